"""Which signatures failures have since a date, and had not before."""

from __future__ import annotations

from datetime import datetime

from tfmemlens.model.fleet import NewCauses, Side
from tfmemlens.renderers.terminal import _fleet
from tfmemlens.renderers.terminal._blocks import as_text, paragraph, styled
from tfmemlens.renderers.terminal.causes import table
from tfmemlens.renderers.view import View


def render(found: NewCauses, view: View = View()) -> str:
    """One screen: what is new, and what it is compared with; with `full` what each example says."""
    sides = _side("before", found.before, found.earlier, view) + _side(
        "since", found.after, found.later, view
    )
    lines = [
        _fleet.title(found.path, "", view),
        *(styled(line, "bold", view.color) for line in paragraph(verdict(found), view.width)),
        "",
        *sides,
    ]
    if found.new:
        lines += ["", *table(found.new, "signature", view)]
    if found.others:
        lines += ["", f"{_fleet.counted(found.others, 'more new signature')} (--top N)."]
    return as_text(lines, view)


def verdict(found: NewCauses) -> str:
    """The answer in a sentence."""
    if not found.earlier.inputs:
        return (
            f"Undecided: no input was read that covers the time before {_fleet.moment(found.before)}, so no"
            " signature can be called new."
        )
    if not found.later.inputs:
        return f"Undecided: no input was read that covers the time since {_fleet.moment(found.after)}."
    count = len(found.new) + found.others
    new = f"{_fleet.counted(count, 'signature')} {'is' if count == 1 else 'are'} new"
    rest = f"{found.known:,} seen before, {found.gone:,} not seen again"
    undated = f"; {_fleet.counted(found.undated, 'failure')} without a time left out" if found.undated else ""
    return f"{new if count else 'No signature is new'} since {_fleet.moment(found.after)} ({rest}{undated})."


def _side(word: str, when: datetime, side: Side, view: View) -> list[str]:
    said = f"{_fleet.whole(side.tally)}, of {_fleet.counted(side.inputs, 'input')}"
    return paragraph(f"{word:6} {_fleet.moment(when)}: {said}", view.width, " " * 10, "  ")
