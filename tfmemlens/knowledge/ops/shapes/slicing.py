"""Slices, and the gradient that undoes one."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext, rule


@rule("Slice")
def _slice(site: ShapeContext) -> list[Shape]:
    shape, begin, size = site.shape(0), site.value(1), site.value(2)
    if size is None:
        return [None if shape is None else (None,) * len(shape)]
    starts = begin or (None,) * len(size)
    sides = shape or (None,) * len(size)
    rest = [
        None if side is None or low is None else side - low for side, low in zip(sides, starts, strict=True)
    ]
    return [tuple(left if count == -1 else count for left, count in zip(rest, size, strict=True))]


@rule("StridedSlice")
def _strided_slice(site: ShapeContext) -> list[Shape]:
    shape = site.shape(0)
    if shape is None or site.number("ellipsis_mask"):
        return [None]
    vectors = [site.value(index) for index in (1, 2, 3)]
    count = max((len(vector) for vector in vectors if vector), default=0)
    found: list[int | None] = []
    at = 0
    for index, bounds in enumerate(zip(*(vector or (None,) * count for vector in vectors), strict=True)):
        if _masked(site, "new_axis", index):
            found.append(1)
            continue
        if not _masked(site, "shrink_axis", index):
            found.append(_length(site, index, shape[at], *bounds))
        at += 1
    return [(*found, *shape[at:])]


def _masked(site: ShapeContext, name: str, index: int) -> bool:
    return bool(site.number(f"{name}_mask") >> index & 1)


def _length(
    site: ShapeContext, index: int, side: int | None, low: int | None, high: int | None, step: int | None
) -> int | None:
    """What is left of a side; a masked bound is the side's own end."""
    from_start, to_end = _masked(site, "begin", index), _masked(site, "end", index)
    if side is None or not step or (low is None and not from_start) or (high is None and not to_end):
        return None
    return len(range(side)[None if from_start else low : None if to_end else high : step])


@rule("StridedSliceGrad")
def _unsliced(site: ShapeContext) -> list[Shape]:
    return [site.value(0)]
