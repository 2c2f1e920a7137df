"""The layout pass's copies on a page: by cause, by layer, and what an edit left of them."""

from __future__ import annotations

from tfmemlens.model.case import Case
from tfmemlens.model.layout import LayoutStudy
from tfmemlens.renderers.terminal._blocks import (
    bar,
    columns,
    display_width,
    narrowed,
    paragraph,
    shorten,
)
from tfmemlens.renderers.view import View
from tfmemlens.units import human, percent

_SHARE, _BAR = 3, 4


def causes(study: LayoutStudy, view: View) -> list[str]:
    """A line for each cause, without its bar, then without its share, where the terminal is narrow."""
    rows = [
        (
            cause.slug,
            str(len(cause.copies)),
            human(cause.bytes) + (" +?" if cause.unknown else ""),
            percent(cause.bytes, study.bytes) if study.bytes else "",
            bar(cause.bytes / study.bytes, 10) if study.bytes else "",
            f"{human(cause.retained_bytes)} kept for backward" if cause.retained_bytes else "",
        )
        for cause in study.causes
    ]
    lines = columns(rows, frozenset({1, 2, 3}))
    if max(map(display_width, lines), default=0) > view.width:
        narrow = [(*row[:_BAR], row[_BAR + 1].removesuffix(" for backward")) for row in rows]
        lines = columns(narrow, frozenset({1, 2, 3}))
    if max(map(display_width, lines), default=0) > view.width:
        narrower = [(*row[:_SHARE], row[-1]) for row in narrow]
        lines = columns(narrowed(narrower, view.width - 2, {0: 12}), frozenset({1, 2}))
    return lines


def largest(study: LayoutStudy, view: View) -> list[str]:
    """The largest copies: what is copied, in which direction, and for whom."""
    lines = []
    for copy in study.copies[: view.top]:
        size = human(copy.tensor.bytes) if copy.tensor.bytes is not None else "?"
        lines.append(f"  {size:>11} {shorten(copy.node, view.width - 14)}")
        kept = ", kept for backward" if copy.retained else ""
        loop = ", in a loop" if copy.in_loop else ""
        where = f" ({copy.source})" if copy.source else ""
        text = (
            f"{copy.tensor} of {copy.source_layer or 'no layer'}, {copy.direction}{kept}{loop}; forced by"
            f" {copy.forced_by} ({copy.forced_op or 'not in the graph'}){where}: {copy.cause}"
        )
        lines += paragraph(text, view.width, " " * 14)
    rest = study.copies[view.top :]
    return lines + (
        [f"  … {len(rest)} more with {human(sum(copy.tensor.bytes or 0 for copy in rest))} (--top, --json)"]
        if rest
        else []
    )


def peak(study: LayoutStudy, view: View) -> list[str]:
    """What the copies cost at the peak."""
    without = study.peak
    if without is None:
        return []
    text = (
        f"the peak is {human(without.bytes)}, without all copies {human(without.without_bytes)}"
        f" ({without.certainty.value}: {without.how})"
    )
    return paragraph(text, view.width, "  ")


def trials(case: Case, view: View) -> list[str]:
    """Before, and after each edit that was tried."""
    study = case.layout
    if study is None or not case.trials:
        return []
    rows = [("as it is", str(len(study.copies)), human(study.bytes), _peak(study))]
    rows += [
        (trial.remedy, str(len(trial.study.copies)), human(trial.study.bytes), _peak(trial.study))
        for trial in case.trials
    ]
    lines = columns(rows, frozenset({1, 2}))
    for trial in case.trials:
        lines += paragraph(f"{trial.remedy}: {trial.text}", view.width, "    ", "  ")
    return lines


def _peak(study: LayoutStudy) -> str:
    return f"peak about {human(study.peak.bytes)}" if study.peak else ""
