"""Sentences about how a curve was got: each with the timelines that need it, and those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import row, timeline
from tfmemlens.attribution.moments.curves import of_curve
from tfmemlens.model.timeline import BaselineSource, CurveSource
from tfmemlens.values import replace

LIVENESS = {"curve_source": CurveSource.LIVENESS}
STANDING = {"baseline_source": BaselineSource.STANDING}


@pytest.mark.parametrize(
    "given, starts",
    [
        ({}, []),
        (LIVENESS, ["The curve comes from the outputs"]),
        (LIVENESS | STANDING, ["The curve comes from the outputs", "What was in use before"]),
        (STANDING, []),
        (LIVENESS | STANDING | {"predicted": True}, []),
        ({"curve_source": CurveSource.COUNTERS}, ["The curve is a counter"]),
        ({"curve_source": CurveSource.LOG}, ["Times are the stamps"]),
        ({"curve_source": CurveSource.LOG, "ordinal": True}, ["The log has no clock"]),
        ({"curve_source": CurveSource.EVENTS, "ordinal": True}, ["The log has no clock"]),
        ({"curve_source": CurveSource.EVENTS}, []),
    ],
)
def test_what_is_said(given: dict[str, Any], starts: list[str]) -> None:
    said = list(of_curve(replace(timeline(row("a", 1, 0, 1)), **given)))
    assert [text[: len(start)] for text, start in zip(said, starts, strict=True)] == starts


def test_what_it_is_worth() -> None:
    step = replace(timeline(row("a", 1, 0, 1)), **LIVENESS)
    (estimate,) = of_curve(step)
    assert "within 9 %" in estimate and "are missing" in estimate
    bound, _ = of_curve(replace(step, **STANDING))
    assert "lower bound" in bound and "within 9 %" not in bound
    (summed,) = of_curve(replace(timeline(row("a", 1, 0, 1, scratch=True)), **LIVENESS))
    assert "one figure for the whole" in summed and "are missing" not in summed
