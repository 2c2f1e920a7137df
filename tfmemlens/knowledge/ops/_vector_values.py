"""The numbers in small vectors of a graph: shapes, axes, sizes, paddings. Only what decides the shapes of
other tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tfmemlens.knowledge.ops.shapes import Dims, ShapeContext
from tfmemlens.model.tensor import Constant

_LIMIT = 64
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


Rule = Callable[[ShapeContext], "list[Dims | None]"]
_RULES: dict[str, Rule] = {}


def _rule(ops: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        _RULES.update(dict.fromkeys(ops.split(), function))
        return function

    return register


def values_of(site: ShapeContext) -> dict[int, Dims]:
    """The numbers in each output that are known, a scalar as one number."""
    rule = _RULES.get(site.node.op)
    try:
        return {
            port: value
            for port, value in enumerate(rule(site) if rule else ())
            if value is not None and len(value) <= _LIMIT
        }
    except (
        IndexError,
        TypeError,
        ValueError,
        ZeroDivisionError,
    ):  # an attribute that is no such attribute: nothing is known
        return {}


@_rule("Const HostConst")
def _constant(site: ShapeContext) -> list[Dims | None]:
    value = site.node.attributes.get("value")
    return [value.values if isinstance(value, Constant) else None]


@_rule("Shape ShapeN")
def _shapes(site: ShapeContext) -> list[Dims | None]:
    return [each.shape for each in site.inputs]


@_rule("Rank")
def _rank(site: ShapeContext) -> list[Dims | None]:
    shape = site.shape(0)
    return [None if shape is None else (len(shape),)]


@_rule("Size")
def _size(site: ShapeContext) -> list[Dims | None]:
    shape = site.shape(0)
    return [None if shape is None or None in shape else (math.prod(side or 0 for side in shape),)]


@_rule(
    "Identity Cast Reshape Squeeze ExpandDims StopGradient EnsureShape PlaceholderWithDefault Enter Snapshot"
    " Bitcast"
)
def _passed(site: ShapeContext) -> list[Dims | None]:
    return [site.value(0)]


@_rule(" ".join(_ARITHMETIC))
def _computed(site: ShapeContext) -> list[Dims | None]:
    left, right = site.value(0), site.value(1)
    if left is None or right is None:
        return [None]
    size = max(len(left), len(right))
    left, right = (side * size if len(side) == 1 else side for side in (left, right))
    work = _ARITHMETIC[site.node.op]
    return [tuple(None if a is None or b is None else work(a, b) for a, b in zip(left, right, strict=True))]


@_rule("Pack")
def _packed(site: ShapeContext) -> list[Dims | None]:
    return [tuple(number for value in _parts(site) for number in value)]


@_rule("ConcatV2")
def _joined(site: ShapeContext) -> list[Dims | None]:
    return [tuple(number for value in _parts(site)[:-1] for number in value)]


@_rule("Range")
def _range(site: ShapeContext) -> list[Dims | None]:
    low, high, step = (site.scalar(index) for index in range(3))
    if low is None or high is None or step is None:
        return [None]
    found = range(low, high, step)
    return [tuple(found) if len(found) <= _LIMIT else None]


@_rule("GatherV2 Gather")
def _gathered(site: ShapeContext) -> list[Dims | None]:
    table, picked = site.value(0), site.value(1)
    return [
        (
            None
            if table is None or picked is None
            else tuple(None if index is None else table[index] for index in picked)
        )
    ]


@_rule("Fill")
def _filled(site: ShapeContext) -> list[Dims | None]:
    shape, count = site.value(0), site.scalar(0)
    if shape is None or len(shape) != 1 or count is None or count > _LIMIT:
        return [None]
    return [(site.scalar(1),) * count]


@_rule("ZerosLike OnesLike")
def _alike(site: ShapeContext) -> list[Dims | None]:
    value = site.value(0)
    return [None if value is None else (int(site.node.op == "OnesLike"),) * len(value)]


@_rule("DynamicStitch")
def _stitched(site: ShapeContext) -> list[Dims | None]:
    """The shape that a reduction would have kept, as gradients of Mean and Sum compute it."""
    count = len(site.inputs) // 2
    found: dict[int, int | None] = {}
    for index in range(count):
        places, numbers = site.value(index), site.value(count + index)
        if places is None or numbers is None or None in places:
            return [None]
        found.update(zip((place or 0 for place in places), numbers, strict=True))
    return [tuple(found.get(at) for at in range(max(found, default=-1) + 1))]


@_rule("ConcatOffset")
def _offsets(site: ShapeContext) -> list[Dims | None]:
    """Where each part begins in the whole that they were joined to."""
    axis = site.scalar(0)
    found: list[Dims | None] = []
    start: int | None = 0
    for index in range(1, len(site.inputs)):
        shape = site.value(index)
        if shape is None or axis is None:
            return [None] * (len(site.inputs) - 1)
        at = axis % len(shape)
        found.append(tuple(start if place == at else 0 for place in range(len(shape))))
        side = shape[at]
        start = None if start is None or side is None else start + side
    return found


def _parts(site: ShapeContext) -> list[Dims]:
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


@_rule("StridedSlice")
def _slice(site: ShapeContext) -> list[Dims | None]:
    value, begin = site.value(0), site.value(1)
    low, high, step = (site.scalar(index) for index in (1, 2, 3))
    if (
        value is None
        or begin is None
        or len(begin) != 1
        or site.number("new_axis_mask")
        or site.number("ellipsis_mask")
    ):
        return [None]
    from_start, to_end = site.number("begin_mask") & 1, site.number("end_mask") & 1
    if (low is None and not from_start) or step is None:
        return [None]
    if site.number("shrink_axis_mask") & 1:
        return [(value[low or 0],)]
    return [
        (
            None
            if high is None and not to_end
            else value[None if from_start else low : None if to_end else high : step]
        )
    ]


@_rule("DataFormatVecPermute DataFormatDimMap")
def _permuted(site: ShapeContext) -> list[Dims | None]:
    value = site.value(0)
    source, target = site.text("src_format", "NHWC"), site.text("dst_format", "NCHW")
    if value is None:
        return [None]
    if site.node.op == "DataFormatDimMap":
        return [tuple(None if axis is None else target.index(source[axis % len(source)]) for axis in value)]
    if len(value) == 2 * len(source):  # paddings: a pair for each letter
        return [tuple(number for letter in target for number in value[2 * source.index(letter) :][:2])]
    return [tuple(value[source.index(letter)] for letter in target) if len(value) == len(source) else None]


_REDUCTIONS: dict[str, Callable[[list[int]], int]] = {"Prod": math.prod, "Sum": sum, "Max": max, "Min": min}


@_rule(" ".join(_REDUCTIONS))
def _reduced(site: ShapeContext) -> list[Dims | None]:
    value = site.value(0)
    if value is None or None in value:
        return [None]
    return [(_REDUCTIONS[site.node.op]([number or 0 for number in value]),)]


@_rule("BroadcastGradientArgs")
def _broadcast_axes(site: ShapeContext) -> list[Dims | None]:
    """The axes along which each operand was repeated."""
    left, right = site.value(0), site.value(1)
    if left is None or right is None or None in left or None in right:
        return [None, None]
    return [_repeated(left, right), _repeated(right, left)]


def _repeated(own: Dims, other: Dims) -> Dims:
    rank = max(len(own), len(other))
    wide, beside = ((1,) * (rank - len(side)) + side for side in (own, other))
    return tuple(
        axis for axis in range(rank) if wide[axis] == 1 and (beside[axis] != 1 or axis < rank - len(own))
    )
