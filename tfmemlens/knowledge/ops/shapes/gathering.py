"""Ops that pick rows, put them together, or count what is there."""

from __future__ import annotations

import math

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext, axis_of, side_of


def gather(site: ShapeContext) -> list[Shape]:
    """Rows of a table: their indices' shape stands for the axis. `batch_dims` leading sides go together."""
    table, picked = site.shape(0), site.shape(1)
    axis = site.scalar(2) if len(site.inputs) > 2 else 0
    if table is None or picked is None or axis is None:
        return [None]
    at = axis_of(axis, len(table))
    return [(*table[:at], *picked[site.number("batch_dims") :], *table[at + 1 :])]


def gather_nd(site: ShapeContext) -> list[Shape]:
    """Each row of indices names a slice."""
    table, picked = site.shape(0), site.shape(1)
    depth = picked[-1] if picked else None
    return [None if table is None or not picked or depth is None else (*picked[:-1], *table[depth:])]


def segments(site: ShapeContext) -> list[Shape]:
    """A row for each segment. Where their number is not an input it depends on values."""
    data, ids = site.shape(0), site.shape(1)
    if data is None or ids is None:
        return [None]
    return [(site.scalar(2), *data[len(ids) :])]


def scatter_nd(site: ShapeContext) -> list[Shape]:
    """The shape that the third input spells."""
    return [site.value(2)]


def one_hot(site: ShapeContext) -> list[Shape]:
    """A new axis as long as the depth."""
    shape, depth, axis = site.shape(0), site.scalar(1), site.number("axis", -1)
    if shape is None:
        return [None]
    at = len(shape) if axis == -1 else axis
    return [(*shape[:at], depth, *shape[at:])]


def top_k(site: ShapeContext) -> list[Shape]:
    """The k largest along the last axis, and where they stood."""
    shape = site.shape(0)
    count = site.scalar(1) if len(site.inputs) > 1 else site.number("k", 1)
    best: Shape = None if not shape else (*shape[:-1], count)
    return [best, best]


def unique(site: ShapeContext) -> list[Shape]:
    """Each value once, as many as there are; and for each element which it is."""
    return [(None,), site.shape(0)]


def stitch(site: ShapeContext) -> list[Shape]:
    """Pieces put at their places: as long as the last place says."""
    half = len(site.inputs) // 2
    place, piece = site.shape(0), site.shape(half)
    sides: Shape = None if place is None or piece is None else piece[len(place) :]
    last = 0
    for index in range(half):
        places = site.value(index)
        if places is None or None in places:
            return [None if sides is None else (None, *sides)]
        last = max([last, *(at + 1 for at in places if at is not None)])
    return [None if sides is None else (last, *sides)]


def batch_blocks(site: ShapeContext) -> list[Shape]:
    """Blocks of pixels become images of the batch, or images blocks."""
    shape, block, edges = site.shape(0), site.value(1), site.value(2)
    if shape is None or block is None or edges is None or None in block or None in edges:
        return [None if shape is None else (None,) * len(shape)]
    forward = site.node.op.startswith("Space")
    times, batch = math.prod(size or 1 for size in block), side_of(shape, 0)
    sides: list[int | None] = list(shape)
    sides[0] = None
    if batch is not None:
        sides[0] = batch * times if forward else batch // times
    for index, size in enumerate(block):
        side, around = side_of(shape, index + 1), sum(edge or 0 for edge in edges[2 * index : 2 * index + 2])
        if side is not None:
            sides[index + 1] = (side + around) // (size or 1) if forward else side * (size or 1) - around
    return [tuple(sides)]


def key_and_counter(site: ShapeContext) -> list[Shape]:
    """A key and a counter of a random number generator."""
    del site
    return [(1,), (2,)]
