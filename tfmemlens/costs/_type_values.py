"""The numbers in small vectors of a graph: shapes, axes, sizes, paddings. Only what decides the shapes of other tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfmemlens.costs.type_rules import Dims, Site
from tfmemlens.model.tensor import Constant

_LIMIT = 64
_PASSING = frozenset("Identity Cast Reshape Squeeze ExpandDims StopGradient EnsureShape PlaceholderWithDefault Enter Snapshot Bitcast".split())
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__,
    "AddV2": int.__add__,
    "Sub": int.__sub__,
    "Mul": int.__mul__,
    "FloorDiv": lambda a, b: a // b,
    "Div": lambda a, b: a // b,
    "TruncateDiv": lambda a, b: int(a / b),
    "FloorMod": lambda a, b: a % b,
    "Mod": lambda a, b: a % b,
    "Maximum": max,
    "Minimum": min,
}


def values_of(site: Site) -> dict[int, Dims]:
    """The numbers in each output that are known, a scalar as one number."""
    try:
        return {port: value for port, value in enumerate(_values(site)) if value is not None and len(value) <= _LIMIT}
    except (IndexError, TypeError, ValueError, ZeroDivisionError):
        return {}


def _values(site: Site) -> list[Dims | None]:
    op, node = site.node.op, site.node
    if op in ("Const", "HostConst"):
        value = node.attributes.get("value")
        return [value.values if isinstance(value, Constant) else None]
    if op in ("Shape", "ShapeN"):
        return [each.shape for each in site.inputs]
    if op in ("Rank", "Size"):
        shape = site.shape(0)
        return [
            None
            if shape is None
            else (len(shape),)
            if op == "Rank"
            else (math.prod(side for side in shape if side is not None),)
            if None not in shape
            else None
        ]
    if op in _PASSING:
        return [site.value(0)]
    if op in _ARITHMETIC:
        return [_each(_ARITHMETIC[op], site.value(0), site.value(1))]
    if op == "Pack":
        return [tuple(number for value in _parts(site) for number in value)]
    if op == "ConcatV2":
        return [tuple(number for value in _parts(site)[:-1] for number in value)]
    if op == "StridedSlice":
        return [_slice(site)]
    if op in ("DataFormatVecPermute", "DataFormatDimMap"):
        return [_permuted(site)]
    if op == "Range":
        low, high, step = (site.value(index) for index in range(3))
        known = low and high and step and None not in (*low, *high, *step)
        return [tuple(range(low[0] or 0, high[0] or 0, step[0] or 1)) if low and high and step and known else None]
    if op in ("Prod", "Sum", "Max", "Min"):
        return [_reduced(op, site.value(0))]
    if op in ("GatherV2", "Gather"):
        table, picked = site.value(0), site.value(1)
        return [tuple(table[index] if index is not None else None for index in picked) if table is not None and picked is not None else None]
    if op == "Fill":
        shape, value = site.value(0), site.value(1)
        return [(value[0],) * (shape[0] or 0) if shape is not None and value and len(shape) == 1 and (shape[0] or 0) <= _LIMIT else None]
    if op == "BroadcastGradientArgs":
        return _broadcast_axes(site.value(0), site.value(1))
    if op == "DynamicStitch":
        return [_stitched(site)]
    if op == "ConcatOffset":
        return _offsets(site)
    if op == "ZerosLike":
        return [None if site.value(0) is None else (0,) * len(site.value(0) or ())]
    if op == "OnesLike":
        return [None if site.value(0) is None else (1,) * len(site.value(0) or ())]
    return []


def _stitched(site: Site) -> Dims | None:
    """The shape that a reduction would have kept, as gradients of Mean and Sum compute it."""
    count = len(site.inputs) // 2
    found: dict[int, int | None] = {}
    for index in range(count):
        places, numbers = site.value(index), site.value(count + index)
        if places is None or numbers is None or None in places:
            return None
        found.update(zip((place or 0 for place in places), numbers, strict=True))
    return tuple(found.get(at) for at in range(max(found, default=-1) + 1))


def _offsets(site: Site) -> list[Dims | None]:
    """Where each part begins in the whole that they were joined to."""
    axis = site.value(0)
    found: list[Dims | None] = []
    start: int | None = 0
    for index in range(1, len(site.inputs)):
        shape = site.value(index)
        if shape is None or axis is None or axis[0] is None:
            return [None] * (len(site.inputs) - 1)
        at = axis[0] % len(shape)
        found.append(tuple(start if place == at else 0 for place in range(len(shape))))
        side = shape[at]
        start = None if start is None or side is None else start + side
    return found


def _parts(site: Site) -> list[Dims]:
    """The inputs' numbers; one that is not known at all stands for its elements if their count is."""
    found = []
    for index in range(len(site.inputs)):
        value, shape = site.value(index), site.shape(index)
        if value is None:
            if shape is None or None in shape:
                raise ValueError("the length is not known")
            value = (None,) * math.prod(side or 0 for side in shape)
        found.append(value)
    return found


def _each(work: Callable[[int, int], int], left: Dims | None, right: Dims | None) -> Dims | None:
    if left is None or right is None:
        return None
    size = max(len(left), len(right))
    left, right = (side * size if len(side) == 1 else side for side in (left, right))
    return tuple(None if a is None or b is None else work(a, b) for a, b in zip(left, right, strict=True))


def _slice(site: Site) -> Dims | None:
    value = site.value(0)
    begin, end, step = (site.value(index) for index in (1, 2, 3))
    if value is None or not begin or not end or len(begin) != 1 or site.number("new_axis_mask") or site.number("ellipsis_mask"):
        return None
    low = None if site.number("begin_mask") & 1 else begin[0]
    if site.number("shrink_axis_mask") & 1:
        return (value[begin[0] or 0],)
    high = None if site.number("end_mask") & 1 else end[0]
    return value[slice(low, high, step[0] if step else 1)]


def _permuted(site: Site) -> Dims | None:
    value = site.value(0)
    source, target = site.text("src_format", "NHWC"), site.text("dst_format", "NCHW")
    if value is None:
        return None
    if site.node.op == "DataFormatDimMap":
        return tuple(None if axis is None else target.index(source[axis % len(source)]) for axis in value)
    if len(value) == 2 * len(source):  # paddings: a pair for each letter
        return tuple(number for letter in target for number in value[2 * source.index(letter) :][:2])
    if len(value) != len(source):
        return None
    return tuple(value[source.index(letter)] for letter in target)


def _reduced(op: str, value: Dims | None) -> Dims | None:
    if value is None or None in value:
        return None
    known = [number for number in value if number is not None]
    if op == "Prod":
        return (math.prod(known),)
    if op == "Sum":
        return (sum(known),)
    return ((max if op == "Max" else min)(known),) if known else None


def _broadcast_axes(left: Dims | None, right: Dims | None) -> list[Dims | None]:
    """The axes along which each operand was repeated."""
    if left is None or right is None or None in left or None in right:
        return [None, None]
    return [_repeated(left, right), _repeated(right, left)]


def _repeated(own: Dims, other: Dims) -> Dims:
    rank = max(len(own), len(other))
    wide, beside = ((1,) * (rank - len(side)) + side for side in (own, other))
    return tuple(axis for axis in range(rank) if wide[axis] == 1 and (beside[axis] != 1 or axis < rank - len(own)))
