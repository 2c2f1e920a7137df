"""Ops that reshape, join, cut, pad and repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.ops.shapes._context import Dims, Shape, ShapeContext, axis_of, side_of


def reshape(site: ShapeContext) -> list[Shape]:
    """The shape that the second input spells; a side of -1 is what is left."""
    wanted, given = site.value(1), site.shape(0)
    if wanted is None:
        return [None]
    if -1 not in wanted:
        return [wanted]
    open_side = None if given is None or None in given or None in wanted else _rest(given, wanted)
    return [tuple(open_side if each == -1 else each for each in wanted)]


def _rest(given: Dims, wanted: Dims) -> int | None:
    """What a side that is written as -1 must be."""
    others = math.prod(side for side in wanted if side is not None and side != -1)
    return math.prod(side or 0 for side in given) // others if others else None


def concat(site: ShapeContext) -> list[Shape]:
    """The sides along the axis add up."""
    count = site.number("N", len(site.inputs) - 1)
    if not 0 <= count < len(site.inputs):
        raise MalformedNode(f"its N is {count}, and it has {len(site.inputs)} inputs")
    axis, first = (site.scalar(0), 1) if site.node.op == "Concat" else (site.scalar(count), 0)
    parts = [site.shape(index) for index in range(first, first + count)]
    known = [part for part in parts if part is not None]
    if not known or axis is None:
        return [None]
    joined: list[int | None] = [
        next((side for side in sides if side is not None), None)
        for sides in zip(*_of_one_rank(known), strict=True)
    ]
    at = axis_of(axis, len(joined))
    sides = [part[at] for part in known]
    joined[at] = sum(side or 0 for side in sides) if len(known) == len(parts) and None not in sides else None
    return [tuple(joined)]


def _of_one_rank(shapes: Sequence[Dims]) -> Sequence[Dims]:
    """The shapes, which must have as many sides. Raises MalformedNode."""
    if len({len(shape) for shape in shapes}) > 1:
        raise MalformedNode(
            f"its shapes {', '.join(str(list(shape)) for shape in shapes)} do not go together"
        )
    return shapes


def split(site: ShapeContext) -> list[Shape]:
    """Equal parts along an axis."""
    count = site.count("num_split")
    shape, axis = site.shape(1), site.scalar(0)
    if shape is None or axis is None:
        return [None] * count
    at = axis_of(axis, len(shape))
    side = shape[at]
    return [(*shape[:at], None if side is None else side // count, *shape[at + 1 :])] * count


def split_sizes(site: ShapeContext) -> list[Shape]:
    """Parts of stated sizes along an axis; one of -1 is what is left."""
    shape, sizes, axis = site.shape(0), site.value(1), site.scalar(2)
    if shape is None or sizes is None or axis is None:
        return [None] * site.count("num_split")
    at = axis_of(axis, len(shape))
    side = shape[at]
    stated = sum(size for size in sizes if size is not None and size != -1)
    rest = None if side is None or None in sizes else side - stated
    return [(*shape[:at], rest if size == -1 else size, *shape[at + 1 :]) for size in sizes]


def pad(site: ShapeContext) -> list[Shape]:
    """Each side with what is added before and after it."""
    shape, around = site.shape(0), site.value(1)
    if shape is None:
        return [None]
    if around is None or len(around) != 2 * len(shape):
        return [(None,) * len(shape)]
    sign = -1 if site.node.op == "MirrorPadGrad" else 1
    pairs = zip(shape, around[::2], around[1::2], strict=True)
    return [
        tuple(
            None if None in (side, low, high) else (side or 0) + sign * ((low or 0) + (high or 0))
            for side, low, high in pairs
        )
    ]


def tile(site: ShapeContext) -> list[Shape]:
    """Each side as often as the second input says."""
    shape, times = site.shape(0), site.value(1)
    if shape is None or times is None:
        return [None if shape is None else (None,) * len(shape)]
    return [
        tuple(
            None if side is None or count is None else side * count
            for side, count in zip(*_of_one_rank([shape, times]), strict=True)
        )
    ]


def squeeze(site: ShapeContext) -> list[Shape]:
    """Without sides of 1."""
    shape = site.shape(0)
    if shape is None:
        return [None]
    gone = {axis_of(axis, len(shape)) for axis in site.numbers("squeeze_dims")} or {
        at for at, side in enumerate(shape) if side == 1
    }
    return [tuple(side for at, side in enumerate(shape) if at not in gone)]


def expand(site: ShapeContext) -> list[Shape]:
    """With a side of 1 at the axis."""
    shape, axis = site.shape(0), site.scalar(1)
    if shape is None or axis is None:
        return [None]
    at = axis_of(axis, len(shape) + 1)
    return [(*shape[:at], 1, *shape[at:])]


def transpose(site: ShapeContext) -> list[Shape]:
    """The sides in the order that the second input spells."""
    shape, order = site.shape(0), site.value(1)
    if shape is None:
        return [None if order is None else (None,) * len(order)]
    if order is None or len(order) != len(shape):
        return [(None,) * len(shape)]
    return [tuple(None if at is None else side_of(shape, at) for at in order)]


def pack(site: ShapeContext) -> list[Shape]:
    """The inputs beside each other along a new axis."""
    shape = site.shape(0)
    if shape is None:
        return [None]
    at = axis_of(site.number("axis"), len(shape) + 1)
    return [(*shape[:at], len(site.inputs), *shape[at:])]


def unpack(site: ShapeContext) -> list[Shape]:
    """The parts along an axis."""
    shape, count = site.shape(0), site.count("num")
    if shape is None:
        return [None] * count
    at = axis_of(site.number("axis"), len(shape))
    return [(*shape[:at], *shape[at + 1 :])] * count
