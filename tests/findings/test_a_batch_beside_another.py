"""One line that says which batch goes well and which do not; what a first size is beside that."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.readers.oom.switches import settings


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    ("text", "works", "failed"),
    [
        (".batch(96); // a small one like 12 is ok, but 24, 48, 96 oom", "12", "24, 48, 96"),
        ("batch size 16 works, 32 fails", "16", "32"),
        ("batchsize 8 runs, but 16 or 32 not enough", "8", "16 or 32"),
    ],
)
def test_both_batches_are_read(text: str, works: str, failed: str) -> None:
    shown = list(settings(text))
    assert ("working_batch", works) in shown and ("failed_batch", failed) in shown


@pytest.mark.parametrize("text", ["batch 2 is ok but 3 epochs error later", "the batch norm v2 works"])
def test_other_numbers_are_no_batches(text: str) -> None:
    assert not [name for name, _ in settings(text) if name in ("working_batch", "failed_batch")]


IN_NODE = "node_modules/@tensorflow/tfjs-node-gpu\nawait model.fitDataset(data);\n"


def test_a_batch_that_works_is_what_a_program_of_javascript_takes() -> None:
    report = explained(IN_NODE + ".batch(96); // 12 is ok, but 24, 48 oom\n" + oom("160,96,56,56", "a/b"))
    first = report.actions[0].remedy
    assert first.slug == "smaller-batch" and "the batch of 12 that works (line 3)" in first.text
    assert "tidy" not in [each.remedy.slug for each in report.actions]
    without = explained(IN_NODE + oom("160,96,56,56", "a/b"))
    assert "tidy" in [each.remedy.slug for each in without.actions]


def test_a_first_size_beside_the_batch_counts_no_pieces() -> None:
    beside = explained("batch_size=96\n" + oom("160,96,56,56"))
    assert "counts pieces" not in " ".join(each.remedy.text for each in beside.actions)
    assert "find-the-feed" not in [each.remedy.slug for each in beside.actions]
    other = explained("batch_size=96\n" + oom("160,56,56,64"))
    assert "counts pieces" in " ".join(each.remedy.text for each in other.actions)


@pytest.mark.parametrize(
    "text",
    [
        "\u628abatch_size\u8c03\u5c0f\u4e5f\u4e0d\u884c",
        "\u51cf\u5c0fbatch size\u8fd8\u662f\u62a5\u9519",
        "\u30d0\u30c3\u30c1\u30b5\u30a4\u30ba\u3092\u5c0f\u3055\u304f\u3057\u3066\u3082\u540c\u3058\u3067\u3059",
        "\ubc30\uce58 \uc0ac\uc774\uc988\ub97c \uc904\uc5ec\ub3c4 \ub611\uac19\uc2b5\ub2c8\ub2e4",
        "\u0443\u043c\u0435\u043d\u044c\u0448\u0438\u043b batch, "
        "\u043d\u0435 \u043f\u043e\u043c\u043e\u0433\u043b\u043e",
    ],
)
def test_a_batch_that_changed_nothing_is_read_in_other_languages(text: str) -> None:
    report = explained(f"{text}\n" + oom("16,1152,1,288", "a/b"))
    assert report.case.capture.surroundings.shows("a smaller batch in vain")
    assert report.actions[0].remedy.slug != "smaller-batch"


@pytest.mark.parametrize(
    "text",
    [
        "\u51cf\u5c0fbatch_size\u5c31\u597d\u4e86",
        "batch_size\u6539\u62104\u5c31\u53ef\u4ee5\u4e86",
        "\u30d0\u30c3\u30c1\u30b5\u30a4\u30ba\u3092\u5c0f\u3055\u304f\u3057\u305f\u3089\u52d5\u304d\u307e\u3057\u305f",
    ],
)
def test_a_batch_that_helped_was_not_in_vain(text: str) -> None:
    report = explained(f"{text}\n" + oom("16,1152,1,288", "a/b"))
    assert not report.case.capture.surroundings.shows("a smaller batch in vain")


def test_a_batch_that_runs_says_more_than_one_that_did_not_help() -> None:
    vain = "I changed the batch size, it does not help.\n"
    runs = explained(vain + "batch_size = 2 \u624d\u80fd\u8bad\u7ec3\n" + oom("16,64,112,112", "a/b"))
    first = runs.actions[0].remedy
    assert first.slug == "smaller-batch" and "the batch of 2 that works (line 2)" in first.text
    assert "or smaller images" in first.text and "tried" not in runs.verdict
    alone = explained(vain + oom("16,64,112,112", "a/b"))
    assert "tried or in use already: a smaller batch (line 1)" in alone.verdict
    near = explained("batch_size = 8 \u624d\u80fd\u8bad\u7ec3\n" + oom("16,64,112,112", "a/b"))
    assert "smaller images" not in near.actions[0].remedy.text
