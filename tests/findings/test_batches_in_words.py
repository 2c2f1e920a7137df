"""What a post says of its batches: with which one goes well, and with which one it failed just now."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

FAILED = oom("64,128,56,56", "net/conv4/Conv2D") + " [Op:__inference_train_function_12]\n"
WEIGHT = oom("802816,1024").partition("\n")[0] + " [Op:Mul]\n"


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def first(text: str) -> str:
    return explained(text).actions[0].remedy.text


@pytest.mark.parametrize(
    "said",
    [
        "2. I set batch_size = 8, then it works, but it is slow.",
        "- mit batch size 8 läuft es problemlos",
        "it trains well with batch size 8",
        "con batch_size = 8 funciona",
        "我把 batch_size=8 就可以正常训练了",
    ],
)
def test_the_batch_that_works_is_the_one_to_take(said: str) -> None:
    told = first(f"batch_size = 64\n{said}\n{FAILED}")
    assert told.startswith("take the batch of 8 that works (line 2)")
    assert "8 batches" in told


@pytest.mark.parametrize(
    "said",
    [
        "batch_size=8 does not work",
        "Does batch size 8 work?",
        "with batch size 8 it runs fine for the first two epochs, then it fails",
        "It works with batch size 8 on my colleague's card",
        "con batch_size = 8 no funciona",
        "batch_size=8 geht leider nicht",
        "batch_size=8 ne marche pas",
        "batch_size=8可以吗",
        "batch size 128 works for another model",
    ],
)
def test_elsewhere_or_denied_it_is_no_cure(said: str) -> None:
    assert "that works" not in first(f"batch_size = 64\n{said}\n{FAILED}")


def test_a_larger_batch_that_works_is_none() -> None:
    assert "that works" not in first(f"batch size 128 works with small images\n{FAILED}")


@pytest.mark.parametrize(
    "said",
    [
        "So I lowered the batch size to 16 and now I get",
        "Ich habe die batch size auf 16 gesetzt, jetzt kommt",
        "把batch_size改成16，报错",
        "At first it was a batch of 128, I reduced the batch size to 16 then",
    ],
)
def test_of_two_failures_the_batch_is_the_later_one_s(said: str) -> None:
    text = f"batch size 128:\n{oom('128,64,224,224')}\n{said}\n{oom('16,512,56,56', 'net/top/Conv2D')}"
    assert explained(text).case.capture.surroundings.setting("batch_size")[0] == "16"  # type: ignore[index]
    assert "16 -> 8" in first(text)


@pytest.mark.parametrize("said", ["Reduce the batch size to 4.", "setting the batch size to 1 may help"])
def test_advice_sets_no_batch(said: str) -> None:
    assert explained(f"{said}\n{FAILED}").case.capture.surroundings.setting("batch_size") is None


def test_a_weight_alone_is_not_halved_with_the_batch() -> None:
    report = explained(f"batch_size=128\n{WEIGHT}")
    assert "as large whatever the batch" in report.verdict
    assert report.actions[0].remedy.slug == "smaller-model"
    assert all(action.remedy.slug != "smaller-batch" for action in report.actions)


@pytest.mark.parametrize(
    ("shape", "op", "weight"),
    [
        ("25088,4096", "Fill", True),  # a slot's zeros, of VGG's first dense layer
        ("25088,4096", "MatMul", False),
        ("25088,4096", "AddV2", False),  # so many rows may be positions
        ("30000,300", "Fill", False),
        ("64,512", "Fill", False),
    ],
)
def test_a_kernel_behind_a_map(shape: str, op: str, weight: bool) -> None:
    text = oom(shape).partition("\n")[0] + f" [Op:{op}]\n"
    assert ("as large whatever the batch" in explained(text).verdict) is weight


def test_a_large_activation_is() -> None:
    text = oom("128,64,224,224").partition("\n")[0] + " [Op:Mul]\n"
    assert explained(f"batch_size=128\n{text}").actions[0].remedy.slug == "smaller-batch"


TABLE = "| Setting | Value |\n|---|---|\n| **train_batch_size** | 24 |\n| `max_seq_length` | 384 |\n"


def test_a_table_states_settings() -> None:
    report = explained(TABLE + oom("24,16,384,384", "bert/encoder/layer_3/attention/self/Softmax"))
    assert report.case.capture.surroundings.setting("batch_size")[0] == "24"  # type: ignore[index]
    assert any("`max_seq_length`" in action.remedy.text for action in report.actions)


def test_a_table_of_devices_states_none() -> None:
    row = "|   0  GeForce RTX 206...  On   | 00000000:01:00.0 Off |                  N/A |\n"
    assert explained(row + FAILED).case.capture.surroundings.setting("batch_size") is None


@pytest.mark.parametrize(
    ("shape", "op", "code", "pairs"),
    [
        ("4096,4096", "Add", "", False),
        ("4096,4096", "Sub", "", True),
        ("20000,20000", "Add", "", True),  # no layer is as wide
        ("8192,8192", "Add", "    d = x[:, None] + y[None, :]\n", True),
    ],
)
def test_a_square_of_a_layer_s_width_is_no_pair(shape: str, op: str, code: str, pairs: bool) -> None:
    stack = f'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n{code}' if code else ""
    text = stack + oom(shape).partition("\n")[0] + f" [Op:{op}]\n"
    assert any(finding.rule == "pairwise-broadcast" for finding in explained(text).findings) is pairs
