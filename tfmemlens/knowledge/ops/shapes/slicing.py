"""Slices, and the gradient that undoes one."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext, side_of


def sliced(site: ShapeContext) -> list[Shape]:
    """From the begin on, so many along each side; -1 is all that is left."""
    shape, begin, size = site.shape(0), site.value(1), site.value(2)
    if size is None:
        return [None if shape is None else (None,) * len(shape)]
    if any(vector is not None and len(vector) != len(size) for vector in (shape, begin)):
        raise MalformedNode("what it slices, its begin and its size differ in rank")
    starts = begin or (None,) * len(size)
    sides = shape or (None,) * len(size)
    rest = [
        None if side is None or low is None else side - low for side, low in zip(sides, starts, strict=True)
    ]
    return [tuple(left if count == -1 else count for left, count in zip(rest, size, strict=True))]


def strided_slice(site: ShapeContext) -> list[Shape]:
    """NumPy's slices: ranges, single indices, new axes, an ellipsis."""
    shape = site.shape(0)
    if shape is None:
        return [None]
    result: list[int | None] = []
    for axis, spec in _specs(site, len(shape)):
        if axis is None:
            result.append(1)
        elif spec is None:
            result.append(side_of(shape, axis))
        elif not _masked(site, "shrink_axis", spec):
            chosen = _chosen(site, spec, side_of(shape, axis))
            result.append(None if chosen is None else len(chosen))
    return [tuple(result)]


def chosen_ranges(site: ShapeContext, sides: Sequence[int]) -> list[range] | None:
    """Which indices of each side a StridedSlice picks; None where a bound is not known."""
    picked: list[range] = []
    for axis, spec in _specs(site, len(sides)):
        if axis is None:
            continue
        side = side_of(sides, axis)
        chosen = range(side) if spec is None else _chosen(site, spec, side)
        if chosen is None:
            return None
        picked.append(chosen)
    return picked


def _specs(site: ShapeContext, rank: int) -> list[tuple[int | None, int | None]]:
    """For each element of a slice its axis of the input (None: a new one) and its place in begin, end and
    strides (None: the whole side).
    """
    count = _spec_length(site)
    taking = sum(
        not _masked(site, "new_axis", at) and not _masked(site, "ellipsis", at) for at in range(count)
    )
    pairs: list[tuple[int | None, int | None]] = []
    axis = 0
    for at in range(count):
        if _masked(site, "ellipsis", at):
            pairs += [(axis + skipped, None) for skipped in range(rank - taking)]
            axis += max(rank - taking, 0)
        elif _masked(site, "new_axis", at):
            pairs.append((None, at))
        else:
            pairs.append((axis, at))
            axis += 1
    return pairs + [(left, None) for left in range(axis, rank)]


def _spec_length(site: ShapeContext) -> int:
    """How many elements the slice has, by any of its vectors that is known, else by their shapes."""
    known = [len(vector) for vector in (site.value(at) for at in (1, 2, 3)) if vector]
    shapes = [shape for shape in (site.shape(at) for at in (1, 2, 3)) if shape]
    return max([*known, *(shape[0] or 0 for shape in shapes if not known)], default=0)


def _masked(site: ShapeContext, name: str, index: int) -> bool:
    return bool(site.number(f"{name}_mask") >> index & 1)


def _chosen(site: ShapeContext, at: int, side: int | None) -> range | None:
    """The indices that are picked of a side; a masked bound is the side's own end."""
    low, high, step = (side_of(vector, at) if (vector := site.value(index)) else None for index in (1, 2, 3))
    if _masked(site, "shrink_axis", at):
        if side is None or low is None:
            return None
        first = low + side if low < 0 else low
        return range(first, first + 1)
    from_start, to_end = _masked(site, "begin", at), _masked(site, "end", at)
    if side is None or not step or (low is None and not from_start) or (high is None and not to_end):
        return None
    return range(side)[None if from_start else low : None if to_end else high : step]


def unsliced(site: ShapeContext) -> list[Shape]:
    """The shape that was sliced, as the first input spells it."""
    return [site.value(0)]
