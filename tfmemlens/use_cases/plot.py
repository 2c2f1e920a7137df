"""A traced step as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens import pipeline
from tfmemlens.attribution.moments.stacked_curve import stacked
from tfmemlens.model.capture import Capture
from tfmemlens.model.series import LiveCurve
from tfmemlens.values import replace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(capture: Capture, by: str = "kind", at: str | None = None) -> Figure:
    """The step with the highest peak as a matplotlib figure."""
    from tfmemlens.renderers.pictures.curve import figure

    highest = max(capture.timelines, key=lambda timeline: timeline.peak_bytes)
    report = pipeline.report(replace(capture, timelines=(highest,), incidents=()), at)
    return figure(LiveCurve(report, stacked(highest, by), by))
