"""Blocks of ever other sizes that fill a dump, one or two of each: what results of other lengths leave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tfmemlens.model.allocation import Allocation
from tfmemlens.units import MIB, human

_MOST_OF_A_SIZE = 2
"""A step of a net makes more than two tensors of most of its sizes: an output, its activation, a gradient."""
MANY_SIZES = 12
"""So many sizes are no accident."""
_SMALLEST = MIB // 4
_SPREAD = 4
"""The largest is at most so many times the smallest: the same thing, of another length."""
_MOSTLY = 0.6
"""Of what is in use."""
_MOST_TOPS = 64
"""So many of the largest sizes are tried as the upper end."""


class UnlikeBlocks(NamedTuple):
    """Blocks of many sizes, one or two of each, that hold most of what is in use."""

    sizes: int
    blocks: int
    bytes: int
    smallest: int
    largest: int

    def text(self) -> str:
        """`58 blocks of 31 sizes between 8.37 MiB and 17.05 MiB`."""
        return (
            f"{self.blocks} blocks of {self.sizes} sizes between {human(self.smallest)} and"
            f" {human(self.largest)}"
        )


def unlike_blocks(table: Iterable[Allocation], in_use: int) -> UnlikeBlocks | None:
    """What lies in one band of sizes with one or two blocks of each; None where that is not most of what is
    in use, or where the band has sizes of which there are many.
    """
    rows = sorted((row for row in table if row.size_bytes >= _SMALLEST), key=lambda row: -row.size_bytes)
    best: UnlikeBlocks | None = None
    for start, top in enumerate(rows[:_MOST_TOPS]):
        band = [row for row in rows[start:] if row.size_bytes * _SPREAD >= top.size_bytes]
        few = [row for row in band if row.count <= _MOST_OF_A_SIZE]
        total = sum(row.total_bytes for row in few)
        if len(few) < MANY_SIZES or total < _MOSTLY * sum(row.total_bytes for row in band):
            continue
        if best is None or total > best.bytes:
            smallest, largest = few[-1].size_bytes, few[0].size_bytes
            best = UnlikeBlocks(len(few), sum(row.count for row in few), total, smallest, largest)
    return best if best and best.bytes >= _MOSTLY * in_use > 0 else None
