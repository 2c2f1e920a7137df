"""The traced steps of a log directory as JSON: schema `tfmemlens.steps/1`."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.step import TracedStep
from tfmemlens.renderers.json._text import written
from tfmemlens.renderers.view import View

SCHEMA = "tfmemlens.steps/1"


def render(steps: Sequence[TracedStep], view: View = View()) -> str:
    """`{"schema": "tfmemlens.steps/1", "steps": [{step, tag, time_seconds, format, paths}]}`."""
    del view  # a document has all steps
    rows = [
        {
            "step": step.step,
            "tag": step.tag,
            "time_seconds": step.time,
            "format": step.format,
            "paths": list(step.paths),
        }
        for step in steps
    ]
    return written({"schema": SCHEMA, "steps": rows})
