"""A capture in another viewer's format."""

from __future__ import annotations

from tfmemlens import pipeline, renderers
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture
from tfmemlens.model.series import LiveCurve
from tfmemlens.values import replace

SUBJECTS = ("report", "curve", "tab")
"""What a viewer's form can show: all that is held, the curve, or each allocation of a step."""


def export(capture: Capture, form: str) -> str | bytes:
    """The capture in one of the formats. Raises UnreadableInput where that needs a time axis, and the input
    has none.
    """
    subject = renderers.viewers(*SUBJECTS)[form]
    if subject == "report":
        return renderers.exported(pipeline.report(capture), subject, form)
    if not capture.timelines:
        raise UnreadableInput(
            f"{form} needs a time axis, and this input has none",
            "give a RunMetadata, XSpace or tfevents file, or use --format speedscope",
        )
    if subject == "tab":
        from tfmemlens.use_cases.page import tab_of

        return renderers.exported(tab_of(pipeline.report(capture)), subject, form)
    return renderers.exported(_curve(capture), subject, form)


def _curve(capture: Capture) -> LiveCurve:
    from tfmemlens.attribution.moments.stacked_curve import stacked

    ordered = tuple(sorted(capture.timelines, key=lambda timeline: -timeline.peak_bytes))
    report = pipeline.report(replace(capture, timelines=ordered))
    return LiveCurve(report, stacked(ordered[0]), "kind")
