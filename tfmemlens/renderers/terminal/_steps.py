"""The traced steps of a log directory, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone

from tfmemlens.model.step import TracedStep
from tfmemlens.renderers.terminal._blocks import columns

SCHEMA = "tfmemlens.steps/1"


def render(steps: Sequence[TracedStep]) -> str:
    """A line for each step, oldest first."""
    if not steps:
        return "no traced step found\n"
    rows = [
        ("" if step.step is None else str(step.step), step.tag or "", _when(step), step.format, _files(step))
        for step in steps
    ]
    return (
        "\n".join(columns([("step", "tag", "written (UTC)", "format", "file"), *rows], frozenset({0}))) + "\n"
    )


def as_json(steps: Sequence[TracedStep]) -> str:
    """`{"schema": "tfmemlens.steps/1", "steps": [{step, tag, time_seconds, format, paths}]}`."""
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
    return json.dumps({"schema": SCHEMA, "steps": rows}, indent=2) + "\n"


def _when(step: TracedStep) -> str:
    return (
        datetime.fromtimestamp(step.time, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if step.time else ""
    )


def _files(step: TracedStep) -> str:
    return step.paths[0] + (f" and {len(step.paths) - 1} more" if len(step.paths) > 1 else "")
