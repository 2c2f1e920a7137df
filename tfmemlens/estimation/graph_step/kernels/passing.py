"""Kernels that pass their input on, perhaps under another shape."""

from __future__ import annotations

import math

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel
from tfmemlens.estimation.graph_step.tokens import Shape, Token
from tfmemlens.knowledge.ops.shapes import side_of


@kernel("_Arg", "_DeviceArg", "PlaceholderWithDefault")
def _argument(call: KernelCall) -> list[Token]:
    """Of a call that was written out; those of the step itself are feeds."""
    return [call.alias(0)] if call.inputs else [Token()]


@kernel("_FunctionResults")
def _results(call: KernelCall) -> list[Token]:
    """The results; the arguments, which a call holds to its end, come after them."""
    return [call.alias(index) for index in range(call.number("results", 0))]


@kernel("IdentityN", "_FunctionArguments", "_ParallelConcatStart", "TupleN")
def _pass_all(call: KernelCall) -> list[Token]:
    return [call.alias(index) for index in range(len(call.inputs))]


@kernel("Reshape")
def _reshape(call: KernelCall) -> list[Token]:
    """Whatever the vector, as many elements as before. Where it is not known, the sides that the graph states
    tell the one that it leaves open.
    """
    count = math.prod(call.input(0).shape)
    shape = call.result(_by_what_is_stated(call, count) or (count,)).shape
    return [call.alias(0, shape if math.prod(shape) == count else (count,))]


def _by_what_is_stated(call: KernelCall, count: int) -> Shape | None:
    stated = call.node.outputs[0].shape if call.node.outputs else None
    others = math.prod(side for side in stated or () if side is not None)
    if stated is None or stated.count(None) != 1 or not others:
        return None
    return tuple(count // others if side is None else side for side in stated)


@kernel("Transpose", "ConjugateTranspose")
def _transpose(call: KernelCall) -> list[Token]:
    """Where only sides of 1 change their place, nothing is copied."""
    source, order = call.input(0).shape, call.values(1)
    made = call.result(source[::-1])
    if order is None or len(order) != len(source):
        order = tuple(reversed(range(len(source))))
    moved = [axis for axis in order if side_of(source, axis) != 1]
    return [call.alias(0, made.shape) if moved == sorted(moved) else call.fresh(made)]
