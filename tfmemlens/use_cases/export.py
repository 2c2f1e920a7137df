"""A capture in another viewer's format."""

from __future__ import annotations

from tfmemlens import pipeline, renderers
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture
from tfmemlens.model.series import LiveCurve
from tfmemlens.values import replace


def export(capture: Capture, form: str) -> str:
    """The capture in one of the formats. Raises UnreadableInput where that needs a time axis, and the input
    has none.
    """
    if renderers.viewers("report", "curve")[form] == "report":
        return renderers.render(pipeline.report(capture), "report", form)
    return renderers.render(_curve(capture, form), "curve", form)


def _curve(capture: Capture, form: str) -> LiveCurve:
    from tfmemlens.attribution.moments.stacked_curve import stacked

    if not capture.timelines:
        raise UnreadableInput(
            f"{form} needs a time axis, and this input has none",
            "give a RunMetadata, XSpace or tfevents file, or use --format speedscope",
        )
    ordered = tuple(sorted(capture.timelines, key=lambda timeline: -timeline.peak_bytes))
    report = pipeline.report(replace(capture, timelines=ordered))
    return LiveCurve(report, stacked(ordered[0]), "kind")
