"""A capture in another viewer's format."""

from __future__ import annotations

from dataclasses import replace

from tfmemlens import pipeline
from tfmemlens.attribution.moments.stacked_curve import stacked
from tfmemlens.model.capture import Capture


def export(capture: Capture, form: str) -> str:
    """The capture in another viewer's format: `chrome-trace` or `speedscope`."""
    from tfmemlens.renderers.export import chrome_trace, speedscope

    if form == "speedscope":
        return speedscope.render(pipeline.report(capture))
    ordered = tuple(sorted(capture.timelines, key=lambda timeline: -timeline.peak_bytes))
    return chrome_trace.render(pipeline.report(replace(capture, timelines=ordered)), stacked(ordered[0]))
