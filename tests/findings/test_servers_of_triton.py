"""A server of Triton's, and texts that tell of inference alone: nothing of a training is advised."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.findings.support.situation import only_infers, situation
from tfmemlens.model.report import Report

CONFIG = 'name: "net"\nplatform: "tensorflow_savedmodel"\nmax_batch_size: {}\n'
LARGE = oom("1,64,2048,1536", "net/conv1/Conv2D")


def explained(text: str) -> Report:
    return pipeline.explain(text)


def said(report: Report) -> str:
    return " ".join((report.verdict, *(f"{a.remedy.text} {a.remedy.code}" for a in report.actions)))


def test_a_server_trains_nothing() -> None:
    report = explained(CONFIG.format(0) + LARGE)
    assert situation(report.case).program == "Triton"
    assert "train" not in said(report) and "channels" not in " ".join(a.remedy.text for a in report.actions)
    assert "fewer-instances" in [each.remedy.slug for each in report.actions]


def test_a_largest_batch_of_none_is_no_batch() -> None:
    assert explained(CONFIG.format(0) + LARGE).case.capture.surroundings.setting("batch_size") is None
    eight = explained(CONFIG.format(8) + LARGE).case.capture.surroundings.setting("batch_size")
    assert eight and eight[0] == "8"


def test_a_kernel_of_triton_is_no_server() -> None:
    assert situation(explained("a Triton kernel fails, jax 0.4\n" + LARGE).case).program is None


def test_inference_alone_is_no_training() -> None:
    report = explained("Inference takes minutes.\n" + LARGE)
    assert only_infers(report.case)
    assert "train" not in said(report)


def test_inference_beside_a_training_leaves_both_open() -> None:
    both = explained("Inference works.\nmodel.fit(x, y, epochs=3)\n" + LARGE)
    assert not only_infers(both.case)
    assert not only_infers(explained("W shape inference failed\n" + LARGE).case)
    assert not only_infers(explained("It is fine for inference, but not for training.\n" + LARGE).case)


@pytest.mark.parametrize(
    "said",
    [
        "Inference is fine.\nThe backward pass is where it ends.",
        "Inference is fast.\nAfter the third epoch it fails.",
        "We do posterior inference.",
        "The inference network is a small encoder.",
    ],
)
def test_a_word_of_inference_beside_what_learns_is_no_inference_alone(said: str) -> None:
    assert not only_infers(explained(f"{said}\n{LARGE}").case)


def test_a_graph_optimizer_learns_nothing() -> None:
    assert only_infers(explained(f"Inference fails.\nThe graph optimizer is on.\n{LARGE}").case)
