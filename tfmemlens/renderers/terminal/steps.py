"""The traced steps of a log directory as a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from tfmemlens.escaping import visible
from tfmemlens.model.step import TracedStep
from tfmemlens.renderers.terminal._blocks import columns, display_width
from tfmemlens.renderers.view import View


def render(steps: Sequence[TracedStep], view: View = View()) -> str:
    """A line for each step, oldest first."""
    if not steps:
        return "no traced step found\n"
    rows = [
        ("" if step.step is None else str(step.step), step.tag or "", _when(step), step.format, _files(step))
        for step in steps
    ]
    lines = columns([("step", "tag", "written (UTC)", "format", "file"), *rows], frozenset({0}))
    if max(map(display_width, lines)) > view.width and (view.color or view.width != View().width):
        lines = _path_below(rows)
    return "\n".join(lines) + "\n"


def _path_below(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Two lines a step where one has no room in a terminal: a path is whole, so that it can be copied."""
    facts = columns([("step", "tag", "written (UTC)", "format"), *(row[:4] for row in rows)], frozenset({0}))
    paths = [[], *([f"    {visible(row[4])}"] for row in rows)]
    return [line for fact, path in zip(facts, paths, strict=True) for line in (fact, *path)]


def _when(step: TracedStep) -> str:
    return (
        datetime.fromtimestamp(step.time, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if step.time else ""
    )


def _files(step: TracedStep) -> str:
    return step.paths[0] + (f" and {len(step.paths) - 1} more" if len(step.paths) > 1 else "")
