"""A traced step as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens import pipeline
from tfmemlens.attribution.moments.stacked_curve import stacked
from tfmemlens.attribution.moments.timelines import owners_of
from tfmemlens.errors import UsageError
from tfmemlens.model.capture import Capture
from tfmemlens.model.series import LiveCurve, Sheet
from tfmemlens.values import replace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEYS = ("kind", "layer")
"""What the curve can be stacked by."""


def plot(capture: Capture, by: str = "kind", at: str | None = None, sheet: Sheet = Sheet()) -> Figure:
    """The step with the highest peak as a matplotlib figure. Raises UsageError."""
    from tfmemlens.renderers.pictures.curve import figure

    return figure(_curve(capture, by, at), sheet)


def plot_on(axes: Axes, capture: Capture, by: str = "kind", at: str | None = None) -> None:
    """Its memory over time on axes that exist. Raises UsageError."""
    from tfmemlens.renderers.pictures.curve import draw_curve

    draw_curve(axes, _curve(capture, by, at))


def _curve(capture: Capture, by: str, at: str | None) -> LiveCurve:
    if by not in KEYS:
        raise UsageError(f"{by!r} is nothing to stack by", f"one of {', '.join(KEYS)}")
    highest = max(capture.timelines, key=lambda timeline: timeline.peak_bytes)
    report = pipeline.report(replace(capture, timelines=(highest,), incidents=()), at)
    owned = report.case.moments[0].timeline or highest
    return LiveCurve(report, stacked(owned, by), by, [owner.kind for owner in owners_of(owned)])
