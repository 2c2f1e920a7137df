"""What a program of JAX is fine without, as its writer tried it, goes before what rules guess."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

FAILED = (
    "RESOURCE_EXHAUSTED: Attempting to reserve 9.10G at the bottom of memory. That was not possible."
    " There are 4.02G free, 0B reserved, and 4.02G reservable."
)


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(("jax on a TPU v4", *lines)) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("says", "thing", "first"),
    [
        ("Without the auxiliary decoder it trains.", "auxiliary decoder", "leave-it-out"),
        ("Without MultiSteps it trains.", "MultiSteps", "restore-sharded"),
    ],
)
def test_what_it_is_fine_without_comes_first(says: str, thing: str, first: str) -> None:
    report = explained(FAILED, says)
    assert f"line 3 says that it is fine without `{thing}`" in report.verdict
    assert slugs(report)[0] == first


@pytest.mark.parametrize(
    "says", ["Without success I tried other batches.", "Without jit it is slow and fails, too."]
)
def test_other_sentences_with_without_say_nothing(says: str) -> None:
    assert "fine without" not in explained(FAILED, says).verdict


def test_a_list_of_tests_tells_what_stays_flat() -> None:
    report = explained("host memory climbs", "Killed", "profiler off: RSS stays at 6 GB. loader off: same.")
    assert "fine without `profiler`" in report.verdict and "find-what-grows" not in slugs(report)


def test_saves_that_leave_something_are_told_apart_from_saves_that_are_large() -> None:
    grows = explained("RAM climbs at each checkpoint save", "Killed", "checkpoint off -> flat for hours")
    assert slugs(grows)[0] == "one-checkpoint-at-a-time"
    assert "leave-it-out" not in slugs(grows)
