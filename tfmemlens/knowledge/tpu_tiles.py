"""How a TPU lays a tensor out: in tiles over its two dimensions that come last in memory.

`bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}` lists dimensions from the one that changes fastest on: 0 is
rounded up to a multiple of 128, and 1 to a multiple of 4. Smaller tiles within a tile, as `(2,1)`, pad
nothing more.
"""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.patterns import regex

_LAYOUT = regex(
    r"\{(?P<order>\d{1,2}(?:,\d{1,2}){0,11})(?::[A-Z()\d,]{0,60}?T\((?P<tile>\d{1,5}(?:,\d{1,5}){0,3})\))?"
)
_TILE = (8, 128)


class PaddedDimension(NamedTuple):
    """The dimension of a tensor that tiles make larger than it is."""

    axis: int
    size: int
    padded_to: int
    fastest: bool
    """Whether it is the last in memory, which lies along the longer side of a tile."""


def padded_dimension(shape: tuple[int | None, ...] | None, layout: str) -> PaddedDimension | None:
    """The dimension that grows most by rounding up to whole tiles; None where none grows."""
    if not shape:
        return None
    match = _LAYOUT.match(layout)
    order = tuple(int(axis) for axis in match["order"].split(",")) if match else ()
    if sorted(order) != list(range(len(shape))):
        order = tuple(reversed(range(len(shape))))
    tile = tuple(int(side) for side in match["tile"].split(",")) if match and match["tile"] else _TILE
    grown = []
    for place, (axis, side) in enumerate(zip(order, reversed(tile), strict=False)):
        size = shape[axis]
        if size and side and size % side:
            grown.append(PaddedDimension(axis, size, -(-size // side) * side, place == 0))
    return max(grown, key=lambda each: each.padded_to / each.size, default=None)
