"""Constants, and small whole numbers where their count is not known."""

from __future__ import annotations

import math

from tfmemlens.estimation.graph_step.kernels._call import ALIGNED, KernelCall, kernel, known
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.shapes import axis_of
from tfmemlens.model.tensor import Constant, TensorType


@kernel("Const", "HostConst")
def _constant(call: KernelCall) -> list[Token]:
    kept = call.state.get(call.node.name)
    if kept is None:
        value = call.attribute("value")
        shape = tuple(size or 0 for size in value.shape or ()) if isinstance(value, TensorType) else ()
        dtype = (value.dtype if isinstance(value, TensorType) else None) or "float32"
        kept = Token(shape, dtype, known(value.values) if isinstance(value, Constant) else None)
        call.state[call.node.name] = kept
    return [kept]


@kernel("Range")
def _range(call: KernelCall) -> list[Token]:
    return [call.fresh(call.result((1,)))]


@kernel("BroadcastGradientArgs")
def _broadcast_gradient(call: KernelCall) -> list[Token]:
    """Operands of unknown shapes are taken to be alike."""
    return [call.fresh(token) for token in call.results((0,), (0,))]


@kernel("Unpack")
def _unpack(call: KernelCall) -> list[Token]:
    """Parts along the first axis share the buffer where each is aligned."""
    source, parts = call.input(0), call.results()
    shared = axis_of(call.number("axis", 0), len(source.shape)) == 0
    if shared and parts and parts[0].bytes % ALIGNED == 0:
        return [Token(part.shape, source.dtype, part.values, source.buffer) for part in parts]
    return [call.fresh(part) for part in parts]


@kernel("DynamicStitch", "ParallelDynamicStitch")
def _stitch(call: KernelCall) -> list[Token]:
    """Where the places are not known, each piece is taken to have one of its own."""
    half = len(call.inputs) // 2
    places, pieces = call.inputs[:half], call.inputs[half:]
    count = sum(math.prod(place.shape) for place in places)
    sides = pieces[0].shape[len(places[0].shape) :] if places else ()
    return [call.fresh(call.result((count, *sides)))]
