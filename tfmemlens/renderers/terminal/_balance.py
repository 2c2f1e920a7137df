"""The balance: a bar and its letters, from the limit down to what is free."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Moment
from tfmemlens.renderers.kinds import in_words
from tfmemlens.renderers.palette import TERMINAL
from tfmemlens.renderers.terminal._blocks import columns, heading, paragraph, stacked_bar, styled
from tfmemlens.renderers.view import View
from tfmemlens.units import MIB, human, human_size, percent

LETTERS = {
    Kind.ACTIVATION: "█",
    Kind.LAYOUT_TRANSPOSE: "▓",
    Kind.GRADIENT: "▒",
    Kind.PARAMETER: "■",
    Kind.OPTIMIZER_SLOT: "◆",
    Kind.WORKSPACE: "w",
    Kind.LOOP_STACK: "L",
    Kind.CONSTANT: "c",
    Kind.HELD: "p",
    Kind.INPUT: "i",
    Kind.TRANSFER: "t",
    Kind.UNATTRIBUTED: "u",
}

UNLISTED = "in buffers that are not listed"
NAMELESS = "in use"
LISTED = "in use, listed"
NOT_HERE = "in use, not in this text"
_LISTED = 1.02
"""Above so many times what is listed some of it is missing."""
UNLISTED_BY_TENSORFLOW = "not in TensorFlow's list"
_FAR = 20
"""A limit so many times what a step holds would leave its kinds no room in the bar."""


def page(moment: Moment, view: View) -> list[str]:
    """The bar under its heading, each letter explained; nothing where no size is known."""
    if is_next_to_nothing(moment):
        return []
    drawn = bar(moment, view)
    if not drawn and is_part_of_a_dump(moment):
        return [*heading("memory use", view), f"  {headline(moment)}"]
    if not drawn and (mapped := by_the_map(moment)):
        return [*heading("memory use", view), f"  {mapped}"]
    if not drawn:
        return []
    books = moment.balance
    lines = [*heading("memory use", view), f"  {headline(moment)}", *drawn]
    rows = [(part.letter, part.name, part.size, part.share) for part in parts(moment)]
    if books.available and books.available.bytes:
        letter = "" if limit_is_far(moment) else "·"
        rows.append((letter, *free(moment), ""))
    facts = figures(moment)
    return (
        lines
        + columns(rows, frozenset({2, 3}))
        + (paragraph(", ".join(facts), view.width, "  ") if facts else [])
    )


def free(moment: Moment) -> tuple[str, str]:
    """What the empty rest of the bar is, and its bytes: of a pool that could not grow most is not free."""
    books = moment.balance
    if books.refused and books.free is not None and books.refused.bytes > books.free.bytes:
        return "never got from the device", human_size(books.refused)
    return "free", human_size(books.available) if books.available and books.available.bytes else ""


def bar(moment: Moment, view: View) -> list[str]:
    """The bar alone, each kind in its colour; nothing where no size is known."""
    stretches, whole = parts(moment), scale(moment)
    if not whole or _says_nothing(moment, stretches):
        return []
    drawn = stacked_bar([(part.letter, part.bytes) for part in stretches], whole, view.width - 4)
    kinds = {part.letter: part.kind for part in stretches}
    colored = "".join(
        styled("".join(run), style(kinds[letter]), view.color) for letter, run in groupby(drawn)
    )
    return [f"  [{colored}{'·' * (view.width - 4 - len(drawn))}]"]


def _says_nothing(moment: Moment, stretches: list[BarPart]) -> bool:
    """Whether the bar would draw what failed alone, and nobody knows of what: no limit, no buffer by name; or
    a limit alone, which would look like a device that is empty.
    """
    nameless = moment.balance.limit is None and all(part.name == UNLISTED for part in stretches)
    return nameless or is_part_of_a_dump(moment) or not any(part.bytes for part in stretches)


def is_part_of_a_dump(moment: Moment) -> bool:
    """Whether blocks without names are all that is known: a whole dump tells the limit and what is in use."""
    books = moment.balance
    blocks = moment.incident is not None and bool(moment.incident.size_classes or moment.incident.chunks)
    if not blocks or books.limit or books.in_use or moment.timeline:
        return False
    return all(part.kind is Kind.UNATTRIBUTED for part in parts(moment))


def by_the_map(moment: Moment) -> str:
    """What the map at a dump's end shows of the pool, where no figure of the dump is here."""
    state = moment.incident.state if moment.incident else None
    if state is None or state.occupied is None or state.limit or state.in_use:
        return ""
    used = round(100 * state.occupied)
    if used == 100 or not state.free_run:
        return "all of the pool, by the allocator's map"
    piece = round(100 * state.free_run)
    return f"{used} % of the pool, by its map; largest gap {piece} %"


def is_next_to_nothing(moment: Moment) -> bool:
    """Whether the blocks of a cut dump that are here are its first few alone."""
    books = moment.balance
    cut = moment.lists_blocks_alone and not (books.limit or books.in_use or moment.timeline)
    return bool(cut and moment.attribution.table.total_bytes < MIB)


def names(stretches: Sequence[BarPart]) -> list[str]:
    """What they stand for; where no part of what is in use has a name, that it is in use is all."""
    named = [part for part in stretches if part.name != NOT_HERE]
    nameless = len(named) == 1 and named[0].kind is Kind.UNATTRIBUTED
    listed = NAMELESS if len(stretches) == 1 else LISTED
    return [listed if nameless and part in named else part.name for part in stretches]


def style(kind: Kind | None) -> str:
    """A kind's colour in a terminal of 256 colours: the nearest to that of the page."""
    return f"color-{TERMINAL[kind]}" if kind else "dim"


def headline(moment: Moment) -> str:
    """`limit 11.00 GiB, peak so far 10.90 GiB`."""
    return f"{limit(moment)}{_peak(moment)}"


def scale(moment: Moment) -> int:
    """What the bar's full length stands for: the limit, or all in use where that is more, or tells more;
    where nobody tells the limit, what is in use and what is free.
    """
    books, held = moment.balance, _held(moment)
    if books.limit is None:
        return held + (books.available.bytes if books.available else 0)
    return held if limit_is_far(moment) else max(books.limit.bytes, held)


def limit_is_far(moment: Moment) -> bool:
    """Whether the bar is of what a step holds alone. Of a failure the empty rest tells something."""
    limit, held = moment.balance.limit, _held(moment)
    return bool(moment.timeline and limit and 0 < _FAR * held < limit.bytes)


def _held(moment: Moment) -> int:
    return sum(part.bytes for part in parts(moment))


class BarPart(NamedTuple):
    """A stretch of the bar: its letter, what it stands for, its bytes, and how the page prints them."""

    letter: str
    name: str
    bytes: int
    size: str
    share: str = ""
    kind: Kind | None = None


def parts(moment: Moment) -> list[BarPart]:
    """The stretches of the bar; shares are of all that is in use, whether listed or not."""
    whole = moment.accounted_bytes
    stretches = [
        BarPart(
            LETTERS[Kind(group.name)],
            in_words(Kind(group.name)),
            group.total_bytes,
            human(group.total_bytes),
            percent(group.total_bytes, whole),
            Kind(group.name),
        )
        for group in moment.drawn.by("kind")
        if group.total_bytes
    ]
    outside, unlisted, in_use = (
        moment.balance.outside_report,
        moment.unlisted_buffer_bytes,
        moment.balance.in_use,
    )
    if not stretches and in_use and in_use.bytes and not (outside and outside.bytes):
        stretches.append(
            BarPart(
                LETTERS[Kind.UNATTRIBUTED],
                NAMELESS,
                in_use.bytes,
                human_size(in_use),
                percent(in_use.bytes, whole),
            )
        )
    if outside and outside.bytes:
        stretches.append(
            BarPart(
                "o",
                UNLISTED_BY_TENSORFLOW,
                outside.bytes,
                human_size(outside),
                percent(outside.bytes, whole),
            )
        )
    elif missing := _not_in_the_text(moment, stretches):
        stretches.append(BarPart("?", NOT_HERE, missing, human(missing)))
    if unlisted:
        stretches.append(BarPart("?", UNLISTED, unlisted, human(unlisted), percent(unlisted, whole)))
    return stretches


def _not_in_the_text(moment: Moment, stretches: Sequence[BarPart]) -> int:
    """What is in use by the allocator's figures, and in no row: of a dump that was cut."""
    in_use = moment.balance.in_use
    listed = sum(part.bytes for part in stretches)
    if moment.timeline or in_use is None or not stretches or in_use.low <= _LISTED * listed:
        return 0
    return in_use.bytes - listed


def limit(moment: Moment) -> str:
    """The limit, or all that is held where there is none."""
    if moment.balance.limit:
        far = " (not drawn)" if limit_is_far(moment) else ""
        return f"limit {human_size(moment.balance.limit)}{far}"
    compiled = moment.incident is not None and moment.incident.compiler and not moment.lists_blocks_alone
    if is_part_of_a_dump(moment):
        return f"{human(_held(moment))} in the part of the dump that is here (limit unknown)"
    needed = moment.predicted or compiled
    nobody = "no --limit was given" if moment.predicted else "limit unknown"
    if moment.balance.address_space:
        nobody = f"`ulimit -v` {human(moment.balance.address_space)}"
    compiler = moment.incident.compiler if moment.incident else None
    if compiler and compiler.cut and not compiler.needed:
        return f"listed {human(_held(moment))} (the rest of the list is not in the text)"
    if compiler and moment.lists_buffers_alone:
        return f"listed {human(_held(moment))} (the largest buffers alone)"
    if moment.balance.available and not needed:
        return f"pool {human(scale(moment))} ({nobody})"
    return f"{'needed' if needed else 'held'} {human(scale(moment))} ({nobody})"


def _peak(moment: Moment) -> str:
    peak = moment.balance.peak
    if peak is None or not (moment.balance.limit or not moment.predicted):
        return ""
    measured = "peak" if moment.timeline else "peak so far"
    return f", {'needed' if moment.predicted else measured} {human_size(peak)}"


def figures(moment: Moment) -> list[str]:
    """What is in use, how much more is needed, and the largest free block, as far as the input says."""
    books = moment.balance
    facts: list[str] = []
    if books.in_use:
        facts.append(f"in use {human_size(books.in_use)}")
    if books.missing:
        facts.append(f"{human(books.missing)} more needed")
    if books.largest_free_chunk is not None and books.free and books.free.bytes:
        facts.append(f"largest free block {human_size(books.largest_free_chunk)}")
    if books.waste and books.waste.bytes:
        facts.append(f"lost to allocator rounding {human_size(books.waste)}")
    return facts
