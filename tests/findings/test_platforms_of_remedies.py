"""Remedies that belong to a platform: CUDA's, Apple's, Go's."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.applicability import TABLE
from tfmemlens.findings.support.situation import Situation
from tfmemlens.model.report import Report


def explained(*lines: str) -> Report:
    return pipeline.explain("Hello,\n" + "\n".join(lines) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


GROWS = "Keras is using all of the GPU memory, and memory usage goes up until nothing is left."


@pytest.mark.parametrize(
    ("lines", "of_cuda"),
    [
        (("MacBook Air with M2, tensorflow-metal", GROWS), False),
        (("I read about tensorflow-metal, but have an RTX 3060 on Linux", GROWS), True),
        (("Ubuntu 22.04", GROWS), True),
        (("Mac OS 12, in a Kaggle notebook", GROWS), True),
    ],
)
def test_apples_gpu_has_no_settings_of_cuda(lines: tuple[str, ...], of_cuda: bool) -> None:
    assert ("growth" in slugs(explained(*lines))) is of_cuda


def test_what_is_of_cuda_is_not_offered_for_apples_gpu() -> None:
    apple = Situation(settings=frozenset(("gpu=Apple",)), training=True)
    assert not TABLE["growth"].holds(apple)
    assert TABLE["smaller-batch"].holds(apple)


def test_the_device_of_ml_compute_is_chosen_by_its_own_call() -> None:
    report = explained(
        "```", "from tensorflow.python.compiler.mlcompute import mlcompute",
        "mlcompute.set_mlc_device(device_name='gpu')", "```", GROWS,
    )  # fmt: skip
    first = report.actions[0].remedy
    assert first.slug == "compare-with-cpu"
    assert "set_mlc_device" in (first.code or "")


FORM = (
    "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Ubuntu 20.04, Mac OS",
    "- Python version: not used",
    "- GPU model and memory: none",
    "Our service calls the model from Go, and the memory usage goes up until it restarts; the Go heap is flat.",
)


def test_a_program_of_go_on_the_cpu_of_several_systems() -> None:
    report = explained(*FORM)
    assert slugs(report)[:2] == ["one-order-of-feeds", "close-tensors-of-go"]
    assert not any("psutil" in (action.remedy.code or "") for action in report.actions)


def test_the_game_of_go_is_no_language() -> None:
    report = explained("The net plays Go, and the memory usage goes up with every game until it restarts.")
    assert "one-order-of-feeds" not in slugs(report)


@pytest.mark.parametrize(
    ("said", "none"),
    [("GPU model and memory: not used", True), ("GPU model and memory: Tesla T4, none free", False)],
)
def test_the_form_says_whether_there_is_a_gpu(said: str, none: bool) -> None:
    report = explained(said, "memory usage goes up with each call")
    assert ("host RAM" in report.verdict) is none
