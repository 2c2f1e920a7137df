"""What the bins of a dump tell where its chunks and statistics were cut: large blocks, free and in use."""

from __future__ import annotations

from tfmemlens.model.case import Moment
from tfmemlens.model.incident import BinRow
from tfmemlens.units import MIB, human, human_size

_JUST_SHORT = 0.9
"""Of the request: a free block that is nearly as large."""
_SOME_BINS, _LITTLE = 3, 256 * MIB
"""Bins that tell something, and what explains no GPU that is full."""


def short_of_it(moment: Moment) -> str:
    """How much the largest free block lacks, where a dump lists it and what was asked for."""
    block, need = moment.balance.largest_free_chunk, moment.request.needed_bytes if moment.request else None
    if block is None or not block.bytes or need is None or block.bytes >= need or not _is_of_all(moment):
        return ""
    just = "just short of it" if block.bytes >= _JUST_SHORT * need else "too small for it"
    return f"the largest free block had {human_size(block)}, {just}"


def _is_of_all(moment: Moment) -> bool:
    """Whether it is the largest of all: of a whole list, or of the bin that the request was looked for in."""
    assert moment.incident
    state = moment.incident.state
    line = state.line_of("largest_free_chunk")
    return state.free_chunks is not None or bool(line and "| in_use" in line.text)


def of_bins(moment: Moment) -> str:
    """What the bins of a cut dump hold: the one that holds most, or that all which are here hold little."""
    state = moment.incident.state if moment.incident else None
    if state is None or state.in_use or not state.bins:
        return ""
    known, last = sum(each.in_use.bytes for each in state.bins), state.bins[-1]
    if known >= _LITTLE:
        return _of_the_fullest(max(state.bins, key=lambda each: each.in_use.bytes))
    if last.is_last or len(state.bins) < _SOME_BINS or (not known and _are_of_free_chunks(last)):
        return ""
    least = human(state.bins[0].low_bytes)
    return (
        f"; blocks of {least} to {human(2 * last.low_bytes)}, whose bins are here, hold {human(known)}: what"
        " filled the device is in others, or not in this pool"
    )


def _are_of_free_chunks(row: BinRow) -> bool:
    """Whether a release before 1.4 printed it, whose bins have no chunks but free ones."""
    return row.line is not None and "client-requested for chunks" in row.line.text


def _of_the_fullest(most: BinRow) -> str:
    """What its blocks hold: one is as large as all."""
    size = human_size(most.in_use)
    if most.used == 1:
        return f"; one block of {size} was in use"
    bound = "and more" if most.is_last else f"to {human(2 * most.low_bytes)}"
    return f"; {most.used} blocks of {human(most.low_bytes)} {bound} held {size}"
