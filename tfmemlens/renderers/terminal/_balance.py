"""The balance: a bar and its letters, from the limit down to what is free."""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Moment
from tfmemlens.renderers.terminal._blocks import columns, heading, paragraph, stacked_bar
from tfmemlens.renderers.view import View
from tfmemlens.units import human, human_size, percent

LETTERS = {
    Kind.ACTIVATION: "█",
    Kind.LAYOUT_TRANSPOSE: "▓",
    Kind.GRADIENT: "▒",
    Kind.PARAMETER: "■",
    Kind.OPTIMIZER_SLOT: "◆",
    Kind.WORKSPACE: "w",
    Kind.LOOP_STACK: "L",
    Kind.CONSTANT: "c",
    Kind.INPUT: "i",
    Kind.TRANSFER: "t",
    Kind.UNATTRIBUTED: "u",
}


def page(moment: Moment, view: View) -> list[str]:
    """The bar under its heading, each letter explained; nothing where no size is known."""
    books, parts = moment.balance, _parts(moment)
    whole = max(books.limit.bytes if books.limit else 0, sum(part.bytes for part in parts))
    if not whole:
        return []
    drawn = stacked_bar([(part.letter, part.bytes) for part in parts], whole, view.width - 4)
    lines = [
        *heading("memory use", view),
        f"  {_limit(moment, whole)}{_peak(moment)}",
        f"  [{drawn}{'·' * (view.width - 4 - len(drawn))}]",
    ]
    rows = [(part.letter, part.name, part.size, part.share) for part in parts]
    if books.available and books.available.bytes:
        rows.append(("·", "free", human_size(books.available), ""))
    return lines + columns(rows, frozenset({2, 3})) + _figures(moment, view)


class _Part(NamedTuple):
    """A stretch of the bar: its letter, what it stands for, its bytes, and how the page prints them."""

    letter: str
    name: str
    bytes: int
    size: str
    share: str = ""


def _parts(moment: Moment) -> list[_Part]:
    """Shares are of all that is in use, as the bar draws it, whether listed or not."""
    whole = moment.accounted_bytes
    parts = [
        _Part(
            LETTERS[Kind(group.name)],
            str(group.name),
            group.total_bytes,
            human(group.total_bytes),
            percent(group.total_bytes, whole),
        )
        for group in moment.attribution.by("kind")
        if group.total_bytes
    ]
    outside, unlisted, in_use = (
        moment.balance.outside_report,
        moment.unlisted_buffer_bytes,
        moment.balance.in_use,
    )
    if not parts and in_use and in_use.bytes and not (outside and outside.bytes):
        parts.append(
            _Part(
                LETTERS[Kind.UNATTRIBUTED],
                "in use, owner unknown",
                in_use.bytes,
                human_size(in_use),
                percent(in_use.bytes, whole),
            )
        )
    if outside and outside.bytes:
        parts.append(
            _Part(
                "o", "outside the report", outside.bytes, human_size(outside), percent(outside.bytes, whole)
            )
        )
    if unlisted:
        parts.append(
            _Part("?", "in buffers that are not listed", unlisted, human(unlisted), percent(unlisted, whole))
        )
    return parts


def _limit(moment: Moment, whole: int) -> str:
    if moment.balance.limit:
        return f"limit {human_size(moment.balance.limit)}"
    needed = moment.predicted or (moment.incident and moment.incident.compiler)
    nobody = "no --limit was given" if moment.predicted else "limit unknown"
    return f"{'needed' if needed else 'held'} {human(whole)} ({nobody})"


def _peak(moment: Moment) -> str:
    peak = moment.balance.peak
    if peak is None or not (moment.balance.limit or not moment.predicted):
        return ""
    measured = "peak" if moment.timeline else "peak so far"
    return f", {'needed' if moment.predicted else measured} {human_size(peak)}"


def _figures(moment: Moment, view: View) -> list[str]:
    books = moment.balance
    facts = []
    if books.in_use:
        facts.append(f"in use {human_size(books.in_use)}")
    if books.largest_free_chunk is not None and books.free and books.free.bytes:
        facts.append(f"largest free block {human_size(books.largest_free_chunk)}")
    if books.waste and books.waste.bytes:
        facts.append(f"lost to allocator rounding {human_size(books.waste)}")
    if books.missing:
        facts.append(f"missing {human(books.missing)}")
    return paragraph(", ".join(facts), view.width, "  ") if facts else []
