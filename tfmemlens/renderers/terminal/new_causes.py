"""Which signatures failures have since a date, and had not before."""

from __future__ import annotations

from datetime import datetime

from tfmemlens.model.fleet import NewCauses, Side
from tfmemlens.renderers.terminal import _fleet
from tfmemlens.renderers.terminal._blocks import as_text, paragraph, styled
from tfmemlens.renderers.terminal.causes import table
from tfmemlens.renderers.view import View


def render(causes: NewCauses, view: View = View()) -> str:
    """One screen: what is new, and what it is compared with; with `full` what each example says."""
    sides = _side("before", causes.before, causes.earlier, view) + _side(
        "since", causes.after, causes.later, view
    )
    lines = [
        _fleet.title(causes.path, "", view),
        *(styled(line, "bold", view.color) for line in paragraph(verdict(causes), view.width)),
        "",
        *sides,
    ]
    if causes.new:
        lines += ["", *table(causes.new, "signature", view)]
    if causes.others:
        lines += ["", f"{_fleet.counted(causes.others, 'more new signature')} (--top N)."]
    return as_text(lines, view)


def verdict(causes: NewCauses) -> str:
    """The answer in a sentence."""
    if not causes.earlier.inputs:
        return (
            f"Undecided: no input was read that covers the time before {_fleet.moment(causes.before)}, so no"
            " signature can be called new."
        )
    if not causes.later.inputs:
        return f"Undecided: no input was read that covers the time since {_fleet.moment(causes.after)}."
    count = len(causes.new) + causes.others
    new = f"{_fleet.counted(count, 'signature')} {'is' if count == 1 else 'are'} new"
    rest = f"{causes.known:,} seen before, {causes.gone:,} not seen again"
    undated = (
        f"; {_fleet.counted(causes.undated, 'failure')} without a time left out" if causes.undated else ""
    )
    return f"{new if count else 'No signature is new'} since {_fleet.moment(causes.after)} ({rest}{undated})."


def _side(word: str, when: datetime, side: Side, view: View) -> list[str]:
    said = f"{_fleet.whole(side.tally)}, of {_fleet.counted(side.inputs, 'input')}"
    return paragraph(f"{word:6} {_fleet.moment(when)}: {said}", view.width, " " * 10, "  ")
