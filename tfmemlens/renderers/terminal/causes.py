"""The groups of many jobs' failures, those that hit most jobs first, on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from tfmemlens.model.fleet import FailureGroup, Ranking
from tfmemlens.renderers.terminal import _fleet
from tfmemlens.renderers.terminal._blocks import (
    as_text,
    columns,
    display_width,
    pad,
    paragraph,
    shorten,
    styled,
)
from tfmemlens.renderers.terminal._screen import shorten_end
from tfmemlens.renderers.view import View

_INDENT = "      "


def render(ranking: Ranking, view: View = View()) -> str:
    """One screen; with `full` each group with its example's verdict and first action."""
    head = [_fleet.title(ranking.path, _fleet.period(ranking.start, ranking.end), view)]
    if not ranking.groups:
        return as_text([*head, *paragraph(_nothing(ranking), view.width)], view)
    told = _fleet.whole(ranking.whole)
    inputs = ranking.read.inputs
    said = f"{told}, of {_fleet.counted(inputs, 'input')}" if inputs else told
    lines = [*head, *(styled(line, "bold", view.color) for line in paragraph(said, view.width)), ""]
    trend = _fleet.trend_explained(ranking.windows)
    by = f"BY {ranking.by.upper()}"
    lines.append(f"{styled(by, 'bold', view.color)}  {shorten_end(trend, view.width - len(by) - 2)}")
    lines += table(ranking.groups, ranking.by, view)
    return as_text([*lines, *_last(ranking, view)], view)


def _nothing(ranking: Ranking) -> str:
    inputs = ranking.read.inputs
    where = f" in {_fleet.counted(inputs, 'input')}" if inputs else ""
    since = f" since {_fleet.moment(ranking.start)}" if ranking.start else ""
    return "; ".join(filter(None, (f"No memory failure was found{where}{since}", *_notes(ranking)))) + "."


def table(groups: Sequence[FailureGroup], by: str, view: View) -> list[str]:
    """Of each group its name, below it its figures and where to look."""
    heads = ("jobs", "failures", "hours lost", "trend")
    trends = any(group.jobs_now is not None for group in groups)
    cells = [row if trends else row[:3] for row in (heads, *map(_figures, groups))]
    head, *figures = columns(cells, frozenset({0, 1, 2}), indent=_INDENT)
    width = max(map(display_width, (head, *figures)))
    lines = [styled(shorten_end(f"{pad(head, width)}  latest", view.width), "dim", view.color)]
    for number, (group, row) in enumerate(zip(groups, figures, strict=True), start=1):
        name = shorten(_fleet.name(group, by), view.width - len(_INDENT))
        lines.append(f"{number:>4}. {styled(name, 'bold', view.color)}")
        lines += _row(pad(row, width), group, view)
    return lines


def _figures(group: FailureGroup) -> tuple[str, str, str, str]:
    tally = group.tally
    return f"{tally.jobs:,}", f"{tally.failures:,}", _fleet.hours(tally), _fleet.trend(group)


def _row(figures: str, group: FailureGroup, view: View) -> Iterable[str]:
    """The figures and the example's place; with `full` the whole place, what it says and what to do."""
    example = group.example
    if not view.full:
        room = view.width - display_width(figures) - 2
        return [f"{figures}  {styled(shorten(_fleet.place(example), room), 'dim', view.color)}"]
    told = [_fleet.place(example), example.verdict, f"try: {example.action}" if example.action else ""]
    wrapped = (paragraph(text, view.width, _INDENT) for text in told if text)
    return [f"{figures}  {_fleet.moment(example.time)}", *chain.from_iterable(wrapped), ""]


def _last(ranking: Ranking, view: View) -> list[str]:
    """What is not shown, and what could not be counted."""
    told = []
    if ranking.others:
        word = _fleet.counted(ranking.others, f"more {ranking.by}")
        told.append(f"{word} with {_fleet.counted(ranking.others_failures, 'failure')} (--top N)")
    told += _notes(ranking)
    more = "--full shows what each says; `tfmemlens fleet report` draws the page."
    lines = paragraph("; ".join(told) + ".", view.width) if told else []
    return ["", *lines, *([] if view.full else paragraph(more, view.width))]


def _notes(ranking: Ranking) -> list[str]:
    limited = ranking.windows is not None and ranking.windows.start == ranking.start
    read = ranking.read
    told = (_fleet.undated(ranking, limited), _fleet.unread(read), _fleet.ended(read))
    return [text for text in told if text]
