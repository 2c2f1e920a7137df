"""Slices, and the gradient that undoes one."""

from __future__ import annotations

from tfmemlens.costs.type_rules._site import Dims, Shape, Site, rule


@rule("Slice")
def _slice(site: Site) -> list[Shape]:
    shape, begin, size = site.shape(0), site.value(1), site.value(2)
    if size is None:
        return [None if shape is None else (None,) * len(shape)]
    starts = begin or (None,) * len(size)
    sides = shape or (None,) * len(size)
    return [
        tuple((None if side is None or low is None else side - low) if count == -1 else count for side, low, count in zip(sides, starts, size, strict=True))
    ]


@rule("StridedSlice")
def _strided_slice(site: Site) -> list[Shape]:
    shape = site.shape(0)
    if shape is None:
        return [None]
    if site.number("ellipsis_mask"):
        return [None]
    begin, end, steps = (site.value(index) for index in (1, 2, 3))
    count = len(begin or end or steps or ())
    new, shrink = site.number("new_axis_mask"), site.number("shrink_axis_mask")
    found: list[int | None] = []
    at = 0
    for index in range(count):
        bit = 1 << index
        if new & bit:
            found.append(1)
            continue
        side, at = shape[at], at + 1
        if not shrink & bit:
            found.append(_range(side, begin, end, steps, index, site))
    return [(*found, *shape[at:])]


def _range(side: int | None, begin: Dims | None, end: Dims | None, steps: Dims | None, index: int, site: Site) -> int | None:
    low = None if site.number("begin_mask") >> index & 1 else (begin or {index: None})[index]
    high = None if site.number("end_mask") >> index & 1 else (end or {index: None})[index]
    unknown = (low is None and not site.number("begin_mask") >> index & 1) or (high is None and not site.number("end_mask") >> index & 1)
    step = steps[index] if steps else None
    return None if side is None or unknown or not step else len(range(side)[slice(low, high, step)])


@rule("StridedSliceGrad")
def _unsliced(site: Site) -> list[Shape]:
    return [site.value(0)]
