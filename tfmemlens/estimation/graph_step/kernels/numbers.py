"""Shapes and small whole numbers, with their values where they are known."""

from __future__ import annotations

import math

from tfmemlens.estimation.graph_step.kernels._call import ALIGNED, KernelCall, declared, kernel, vector
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.model.tensor import Constant, TensorType


@kernel("Const", "HostConst")
def _constant(call: KernelCall) -> list[Token]:
    kept = call.state.get(call.node.name)
    if kept is None:
        value = call.attribute("value")
        shape = tuple(size or 0 for size in value.shape or ()) if isinstance(value, TensorType) else ()
        dtype = (value.dtype if isinstance(value, TensorType) else None) or "float32"
        kept = Token(shape, dtype, value.values if isinstance(value, Constant) else None)
        call.state[call.node.name] = kept
    return [kept]


@kernel("Shape")
def _shape(call: KernelCall) -> list[Token]:
    return [vector(call, call.inputs[0].shape)]


@kernel("ShapeN")
def _shapes(call: KernelCall) -> list[Token]:
    return [vector(call, each.shape) for each in call.inputs]


@kernel("Size")
def _size(call: KernelCall) -> list[Token]:
    return [vector(call, (math.prod(call.inputs[0].shape),), ())]


@kernel("Rank")
def _rank(call: KernelCall) -> list[Token]:
    return [call.output((), "int32", (len(call.inputs[0].shape),))]


@kernel("Range")
def _range(call: KernelCall) -> list[Token]:
    parts = [call.values(index) for index in range(3)]
    if any(part is None for part in parts):
        return [call.output(declared(call) or (1,))]
    start, limit, delta = (part[0] if part else 0 for part in parts)
    found = tuple(range(start, limit, delta or 1))
    return [call.output((len(found),), call.inputs[0].dtype, found if len(found) <= 64 else None)]


@kernel("BroadcastGradientArgs")
def _broadcast_gradient(call: KernelCall) -> list[Token]:
    left, right = call.values(0) or (), call.values(1) or ()
    rank = max(len(left), len(right))
    both = [(1,) * (rank - len(side)) + tuple(side) for side in (left, right)]
    result = []
    for mine, other in (both, both[::-1]):
        axes = tuple(
            index
            for index in range(rank)
            if mine[index] == 1 and (other[index] != 1 or mine[index] == other[index] == 1)
        )
        same = left == right
        result.append(call.output((0 if same else len(axes),), "int32", () if same else axes))
    return result


@kernel("InvertPermutation")
def _invert(call: KernelCall) -> list[Token]:
    order = call.values(0)
    inverse = tuple(sorted(range(len(order)), key=order.__getitem__)) if order is not None else None
    return [call.output(call.inputs[0].shape, call.inputs[0].dtype, inverse)]


@kernel("ConcatOffset")
def _concat_offset(call: KernelCall) -> list[Token]:
    axis, at, result = (call.values(0) or (0,))[0], 0, []
    for each in call.inputs[1:]:
        shape = each.values or ()
        position = axis % len(shape) if shape else 0
        result.append(
            call.output(
                (len(shape),), "int32", tuple(at if index == position else 0 for index in range(len(shape)))
            )
        )
        at += shape[position] if shape else 0
    return result


@kernel("Pack")
def _pack(call: KernelCall) -> list[Token]:
    axis, shape = int(call.attribute("axis", 0)), list(call.inputs[0].shape)
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, len(call.inputs))
    parts = [each.values for each in call.inputs]
    known = tuple(part[0] for part in parts if part) if len(shape) == 1 and all(parts) else None
    return [call.output(shape, call.inputs[0].dtype, known)]


@kernel("Unpack")
def _unpack(call: KernelCall) -> list[Token]:
    source, count = call.inputs[0], int(call.attribute("num", 1))
    axis = int(call.attribute("axis", 0)) % max(len(source.shape), 1)
    shape = [size for index, size in enumerate(source.shape) if index != axis]
    shared = axis == 0 and Token(tuple(shape), source.dtype).bytes % ALIGNED == 0
    values = source.values if len(source.shape) == 1 else None
    return [
        (
            call.alias(0, shape)
            if shared
            else call.output(
                shape, source.dtype, (values[index],) if values and index < len(values) else None
            )
        )
        for index in range(count)
    ]


@kernel("DynamicStitch", "ParallelDynamicStitch")
def _stitch(call: KernelCall) -> list[Token]:
    """Pieces put at their places: gradients of reductions write a 1 over each reduced side of a shape so."""
    half = len(call.inputs) // 2
    places, pieces = call.inputs[:half], call.inputs[half:]
    sides = pieces[0].shape[len(places[0].shape) :] if pieces else ()
    known = [(place.values, piece.values) for place, piece in zip(places, pieces, strict=False)]
    if any(place is None for place, _ in known):
        return [
            call.output(
                (sum(math.prod(place.shape) for place in places), *sides), pieces[0].dtype if pieces else None
            )
        ]
    whole: dict[int, int | None] = {}
    for at, piece in known:
        whole.update(zip(at or (), piece if piece is not None else (None,) * len(at or ()), strict=False))
    size = max(whole, default=-1) + 1
    values = tuple(whole.get(index) for index in range(size)) if not sides else (None,)
    return [
        call.output(
            (size, *sides), pieces[0].dtype, None if None in values else tuple(value or 0 for value in values)
        )
    ]
