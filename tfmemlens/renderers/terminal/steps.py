"""The traced steps of a log directory as a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from tfmemlens.model.step import TracedStep
from tfmemlens.renderers.terminal._blocks import columns
from tfmemlens.renderers.view import View


def render(steps: Sequence[TracedStep], view: View = View()) -> str:
    """A line for each step, oldest first."""
    del view  # a path is not broken
    if not steps:
        return "no traced step found\n"
    rows = [
        ("" if step.step is None else str(step.step), step.tag or "", _when(step), step.format, _files(step))
        for step in steps
    ]
    return (
        "\n".join(columns([("step", "tag", "written (UTC)", "format", "file"), *rows], frozenset({0}))) + "\n"
    )


def _when(step: TracedStep) -> str:
    return (
        datetime.fromtimestamp(step.time, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if step.time else ""
    )


def _files(step: TracedStep) -> str:
    return step.paths[0] + (f" and {len(step.paths) - 1} more" if len(step.paths) > 1 else "")
