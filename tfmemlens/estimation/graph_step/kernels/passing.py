"""Kernels that pass their input on, perhaps under another shape."""

from __future__ import annotations

import math

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, declared, kernel
from tfmemlens.estimation.graph_step.tokens import Token


@kernel(
    "Identity",
    "StopGradient",
    "PreventGradient",
    "Snapshot",
    "_Arg",
    "_Retval",
    "PlaceholderWithDefault",
    "EnsureShape",
    "CheckNumerics",
    "LoopCond",
)
@kernel("RefIdentity", "_DeviceArg", "_DeviceRetval", "OptionalFromValue", "DebugIdentity", "GuaranteeConst")
def _pass(call: KernelCall) -> list[Token]:
    return [call.alias(0)] if call.inputs else [Token()]


@kernel("_FunctionResults")
def _results(call: KernelCall) -> list[Token]:
    """The results; the arguments, which a call holds to its end, come after them."""
    return [call.alias(index) for index in range(int(call.attribute("results", 0)))]


@kernel("IdentityN", "_FunctionArguments", "_ParallelConcatStart", "TupleN")
def _pass_all(call: KernelCall) -> list[Token]:
    return [call.alias(index) for index in range(len(call.inputs))]


@kernel("Reshape")
def _reshape(call: KernelCall) -> list[Token]:
    wanted = call.values(1)
    count = math.prod(call.inputs[0].shape)
    if wanted is None:
        stated = declared(call)
        shape = stated if stated is not None and math.prod(stated) == count else (count,)
    else:
        known = math.prod(size for size in wanted if size >= 0)
        shape = tuple(count // max(known, 1) if size < 0 else size for size in wanted)
    return [call.alias(0, shape)]


@kernel("ExpandDims")
def _expand(call: KernelCall) -> list[Token]:
    axis = (call.values(1) or (0,))[0]
    shape = list(call.inputs[0].shape)
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return [call.alias(0, shape)]


@kernel("Squeeze")
def _squeeze(call: KernelCall) -> list[Token]:
    axes = call.attribute("squeeze_dims") or ()
    shape = call.inputs[0].shape
    chosen = (
        {axis % len(shape) for axis in axes}
        if axes
        else {index for index, size in enumerate(shape) if size == 1}
    )
    return [call.alias(0, [size for index, size in enumerate(shape) if index not in chosen])]


@kernel("Transpose", "ConjugateTranspose")
def _transpose(call: KernelCall) -> list[Token]:
    source, order = call.inputs[0].shape, call.values(1)
    if order is None or len(order) != len(source):
        order = tuple(reversed(range(len(source))))
    shape = [source[axis] for axis in order]
    moved = [axis for axis in order if source[axis] != 1]
    return [call.alias(0, shape) if moved == sorted(moved) else call.output(shape)]
