"""What each kernel of the CPU allocates, passes on or makes in place, and the shape of what it returns.

After the kernels of TensorFlow 1.15 to 2.21 (core/kernels/*.cc). A kernel is a function of a Call; ops
without one behave like elementwise ops.
"""

from __future__ import annotations

from tfmemlens.estimation.graph_step.kernels import (
    joining,
    lists,
    numbers,
    others,
    passing,
    products,
    stacks,
    sums,
    variables,
)
from tfmemlens.estimation.graph_step.kernels._call import ELEMENTWISE, KERNELS, KernelCall, broadcast
from tfmemlens.estimation.graph_step.kernels.elementwise import elementwise
from tfmemlens.estimation.graph_step.tokens import Token


def run(call: KernelCall) -> list[Token]:
    """The outputs of a call; an op that is not known makes something like its first input, in place where it
    may.
    """
    found = KERNELS.get(call.node.op)
    if found is not None:
        return found(call)
    if call.node.op in ELEMENTWISE and call.inputs:
        return elementwise(call)
    return guessed(call)


def guessed(call: KernelCall) -> list[Token]:
    """What the graph states of the outputs, else something like the first input."""
    declared = [each for each in call.node.outputs if each.shape is not None and None not in each.shape]
    if declared:
        return [call.output([size or 0 for size in each.shape or ()], each.dtype) for each in declared]
    return elementwise(call) if call.inputs else [call.output(())]


__all__ = [
    "ELEMENTWISE",
    "KERNELS",
    "KernelCall",
    "broadcast",
    "guessed",
    "joining",
    "lists",
    "numbers",
    "others",
    "passing",
    "products",
    "run",
    "stacks",
    "sums",
    "variables",
]
