"""The numbers in small vectors of a graph: shapes, axes, sizes, paddings. Only what decides the shapes of
other tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.ops.shapes._context import Dims, ShapeContext, Typed, ValueRule, axis_of, side_of
from tfmemlens.knowledge.ops.shapes.slicing import chosen_ranges
from tfmemlens.model.tensor import Constant

LIMIT = 64
"""Longer vectors are no shapes."""
Work = Callable[[int, int], int]
_DIVISIONS: dict[str, Work] = {
    "FloorDiv": lambda a, b: a // b,
    "Div": lambda a, b: int(a / b),
    "TruncateDiv": lambda a, b: int(a / b),
    "FloorMod": lambda a, b: a % b,
    "Mod": lambda a, b: int(math.fmod(a, b)),
    "TruncateMod": lambda a, b: int(math.fmod(a, b)),
}
_COMPARISONS: dict[str, Work] = {
    "Less": lambda a, b: int(a < b),
    "LessEqual": lambda a, b: int(a <= b),
    "Greater": lambda a, b: int(a > b),
    "GreaterEqual": lambda a, b: int(a >= b),
    "Equal": lambda a, b: int(a == b),
    "NotEqual": lambda a, b: int(a != b),
    "LogicalAnd": lambda a, b: int(bool(a and b)),
    "LogicalOr": lambda a, b: int(bool(a or b)),
}
_ARITHMETIC: dict[str, Work] = {
    "Add": int.__add__,
    "AddV2": int.__add__,
    "Sub": int.__sub__,
    "Mul": int.__mul__,
    "Maximum": max,
    "Minimum": min,
    **_DIVISIONS,
    **_COMPARISONS,
}


def values_of(site: ShapeContext, rule: ValueRule | None) -> list[Dims | None]:
    """The numbers in each output, a scalar as one number; empty where nothing is known."""
    if rule is None:
        return []
    try:
        return [None if each is None or len(each) > LIMIT else each for each in rule(site)]
    except MalformedNode:  # its shape rule says so, too
        return []


def constant(site: ShapeContext) -> list[Dims | None]:
    """The constant itself."""
    value = site.node.attributes.get("value")
    return [value.values if isinstance(value, Constant) else None]


def shapes(site: ShapeContext) -> list[Dims | None]:
    """The inputs' shapes."""
    return [each.shape for each in site.inputs]


def rank(site: ShapeContext) -> list[Dims | None]:
    """How many dimensions the input has."""
    shape = site.shape(0)
    return [None if shape is None else (len(shape),)]


def size(site: ShapeContext) -> list[Dims | None]:
    """How many elements the input has."""
    shape = site.shape(0)
    return [None if shape is None or None in shape else (math.prod(side or 0 for side in shape),)]


def passed(site: ShapeContext) -> list[Dims | None]:
    """The first input's numbers."""
    return [site.value(0)]


def computed(site: ShapeContext) -> list[Dims | None]:
    """Arithmetic of two operands."""
    left, right = site.value(0), site.value(1)
    if left is None or right is None or (site.node.op in _DIVISIONS and _is_real(site)):
        return [None]
    size = max(len(left), len(right)) if left and right else 0
    left, right = (side * size if len(side) == 1 else side for side in (left, right))
    if len(left) != len(right):
        raise MalformedNode(f"its operands have {len(left)} and {len(right)} elements")
    work = _ARITHMETIC[site.node.op]
    by_zero = site.node.op in _DIVISIONS
    return [
        tuple(
            None if a is None or b is None or (by_zero and b == 0) else work(a, b)
            for a, b in zip(left, right, strict=True)
        )
    ]


def negated(site: ShapeContext) -> list[Dims | None]:
    """What is true where the operand is not."""
    value = site.value(0)
    return [None if value is None else tuple(None if each is None else int(not each) for each in value)]


def _is_real(site: ShapeContext) -> bool:
    return any((each.dtype or "").startswith(("float", "bfloat")) for each in site.inputs)


def packed(site: ShapeContext) -> list[Dims | None]:
    """The numbers one after the other."""
    return [_one_after_the_other(site, site.inputs)]


def joined(site: ShapeContext) -> list[Dims | None]:
    """The vectors one after the other."""
    if any(len(each.shape or ()) > 1 for each in site.inputs) and site.scalar(len(site.inputs) - 1) != 0:
        return [_side_by_side(site)]
    return [_one_after_the_other(site, site.inputs[:-1])]


def _side_by_side(site: ShapeContext) -> Dims | None:
    """Columns of matrices beside each other, such as the paddings before and after each side."""
    parts, shapes = site.values[:-1], [each.shape for each in site.inputs[:-1]]
    if site.scalar(len(parts)) not in (1, -1) or any(shape is None or len(shape) != 2 for shape in shapes):
        return None
    (count, *others), widths = zip(*(shape or () for shape in shapes), strict=True)
    if count is None or any(each != count for each in others):
        return None
    rows: list[int | None] = []
    for row in range(count):
        for part, width in zip(parts, widths, strict=True):
            if part is None or not width or len(part) != count * width:
                return None
            rows += part[row * width : (row + 1) * width]
    return tuple(rows)


def ranged(site: ShapeContext) -> list[Dims | None]:
    """The numbers of a range."""
    low, high, step = (site.scalar(index) for index in range(3))
    if low is None or high is None or not step:
        return [None]
    numbers = range(low, high, step)
    return [tuple(numbers) if len(numbers) <= LIMIT else None]


def gathered(site: ShapeContext) -> list[Dims | None]:
    """The numbers at these places."""
    table, picked = site.value(0), site.value(1)
    return [
        (
            None
            if table is None or picked is None
            else tuple(None if index is None else side_of(table, index) for index in picked)
        )
    ]


def filled(site: ShapeContext) -> list[Dims | None]:
    """One number, so often."""
    shape = site.value(0)
    if shape is None or None in shape:
        return [None]
    count = math.prod(side or 0 for side in shape)
    return [(site.scalar(1),) * count if 0 <= count <= LIMIT else None]


def alike(site: ShapeContext) -> list[Dims | None]:
    """Zeros or ones, as many as the input has."""
    value = site.value(0)
    return [None if value is None else (int(site.node.op == "OnesLike"),) * len(value)]


def stitched(site: ShapeContext) -> list[Dims | None]:
    """The shape that a reduction would have kept, as gradients of Mean and Sum compute it."""
    count = len(site.inputs) // 2
    placed: dict[int, int | None] = {}
    for index in range(count):
        places, numbers = site.value(index), site.value(count + index)
        if places is None or numbers is None or None in places:
            return [None]
        if len(places) != len(numbers):
            raise MalformedNode(f"{len(places)} places for {len(numbers)} numbers")
        if any(not 0 <= (place or 0) < LIMIT for place in places):
            return [None]
        placed.update(zip((place or 0 for place in places), numbers, strict=True))
    return [tuple(placed.get(at) for at in range(max(placed, default=-1) + 1))]


def offsets(site: ShapeContext) -> list[Dims | None]:
    """Where each part begins in the whole that they were joined to."""
    axis = site.scalar(0)
    places: list[Dims | None] = []
    start: int | None = 0
    for index in range(1, len(site.inputs)):
        shape = site.value(index)
        if shape is None or axis is None:
            return [None] * (len(site.inputs) - 1)
        at = axis_of(axis, len(shape))
        places.append(tuple(start if place == at else 0 for place in range(len(shape))))
        side = shape[at]
        start = None if start is None or side is None else start + side
    return places


def _one_after_the_other(site: ShapeContext, inputs: Sequence[Typed]) -> Dims | None:
    """The inputs' numbers; one that is not known at all stands for its elements if their count is. None where
    it is not, or where they are no shape.
    """
    numbers: list[int | None] = []
    for value, each in zip(site.values, inputs, strict=False):
        if value is None:
            if each.shape is None or None in each.shape:
                return None
            count = math.prod(side or 0 for side in each.shape)
            if count > LIMIT:
                return None
            value = (None,) * count
        numbers += value
    return tuple(numbers)


def sliced(site: ShapeContext) -> list[Dims | None]:
    """A slice of a vector."""
    value = site.value(0)
    picked = None if value is None else chosen_ranges(site, (len(value),))
    if value is None or picked is None or len(picked) != 1:
        return [None]
    return [tuple(side_of(value, at) for at in picked[0])]


def cut(site: ShapeContext) -> list[Dims | None]:
    """So many numbers of a vector, from the begin on."""
    value, low, count = site.value(0), site.scalar(1), site.scalar(2)
    if value is None or low is None or count is None or len(site.value(1) or ()) != 1:
        return [None]
    return [value[low:] if count == -1 else value[low : low + count]]


def unpacked(site: ShapeContext) -> list[Dims | None]:
    """Each number of a vector."""
    value, shape = site.value(0), site.shape(0)
    return [] if value is None or len(shape or ()) != 1 else [(number,) for number in value]


def divided(site: ShapeContext) -> list[Dims | None]:
    """A vector in parts, of stated sizes (SplitV) or alike (Split)."""
    stated = site.node.op == "SplitV"
    value = site.value(0 if stated else 1)
    count = site.count("num_split")
    if value is None or len(site.shape(0 if stated else 1) or ()) != 1:
        return []
    sizes = site.value(1) if stated else (len(value) // count,) * count
    if sizes is None or None in sizes:
        return []
    rest = len(value) - sum(size for size in sizes if size is not None and size >= 0)
    parts: list[Dims | None] = []
    start = 0
    for size in sizes:
        length = rest if size is None or size < 0 else size
        parts.append(value[start : start + length])
        start += length
    return parts


def inverted(site: ShapeContext) -> list[Dims | None]:
    """Where each place stands in a permutation."""
    order = site.value(0)
    if order is None or None in order:
        return [None]
    if {*order} != {*range(len(order))}:
        raise MalformedNode(f"{list(order)} is no permutation")
    return [tuple(order.index(at) for at in range(len(order)))]


def permuted(site: ShapeContext) -> list[Dims | None]:
    """A vector in the order of another layout."""
    value = site.value(0)
    source, target = site.text("src_format", "NHWC"), site.text("dst_format", "NCHW")
    if not source or sorted(source) != sorted(target):
        raise MalformedNode(f"it permutes {source} to {target}")
    if value is None:
        return [None]
    if site.node.op == "DataFormatDimMap":
        return [tuple(None if axis is None else target.index(source[axis % len(source)]) for axis in value)]
    if len(value) == 2 * len(source):  # paddings: a pair for each letter
        return [tuple(number for letter in target for number in value[2 * source.index(letter) :][:2])]
    return [tuple(value[source.index(letter)] for letter in target) if len(value) == len(source) else None]


def transposed(site: ShapeContext) -> list[Dims | None]:
    """The numbers of a matrix by its columns, as the gradient of a Tile orders repetitions and sides."""
    value, shape, order = site.value(0), site.shape(0), site.value(1)
    if value is None or shape is None or order is None or len(shape) != 2:
        return [None]
    rows, columns = shape
    if rows is None or columns is None:
        return [None]
    if order != (1, 0) or len(value) != rows * columns:
        return [value if order == (0, 1) else None]
    return [tuple(value[row * columns + column] for column in range(columns) for row in range(rows))]


_REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "Prod": math.prod,
    "Sum": sum,
    "Max": max,
    "Min": min,
    "All": lambda numbers: int(all(numbers)),
    "Any": lambda numbers: int(any(numbers)),
}


def reduced(site: ShapeContext) -> list[Dims | None]:
    """A sum, a product, the largest or smallest of a vector."""
    value = site.value(0)
    if not value or None in value or len(site.shape(0) or ()) > 1:
        return [None]
    return [(_REDUCTIONS[site.node.op]([number or 0 for number in value]),)]


def broadcast_axes(site: ShapeContext) -> list[Dims | None]:
    """The axes along which each operand was repeated, those where both are 1 among them; none where the
    operands are alike (`BCast`, util/bcast.h).
    """
    left, right = site.value(0), site.value(1)
    if left is None or right is None or None in left or None in right:
        return [None, None]
    if left == right:
        return [(), ()]
    rank = max(len(left), len(right))
    return [
        tuple(axis for axis in range(rank) if ((1,) * (rank - len(own)) + own)[axis] == 1)
        for own in (left, right)
    ]
