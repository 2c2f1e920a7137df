"""What each kernel of the CPU allocates, passes on or makes in place, and the shape of what it returns.

After the kernels of TensorFlow 1.15 to 2.21 (core/kernels/*.cc). A kernel is a function of a Call; ops without one behave like elementwise ops.
"""

from __future__ import annotations

from tfmemlens.estimation.kernels import joining, lists, numbers, others, passing, products, stacks, sums, variables
from tfmemlens.estimation.kernels._call import ELEMENTWISE, KERNELS, Call, broadcast
from tfmemlens.estimation.kernels.elementwise import elementwise
from tfmemlens.estimation.tokens import Token


def run(call: Call) -> list[Token]:
    """The outputs of a call; an op that is not known makes something like its first input, in place where it may."""
    found = KERNELS.get(call.node.op)
    if found is not None:
        return found(call)
    if call.node.op in ELEMENTWISE and call.inputs:
        return elementwise(call)
    return guessed(call)


def guessed(call: Call) -> list[Token]:
    """What the graph states of the outputs, else something like the first input."""
    declared = [each for each in call.node.outputs if each.shape is not None and None not in each.shape]
    if declared:
        return [call.output([size or 0 for size in each.shape or ()], each.dtype) for each in declared]
    return elementwise(call) if call.inputs else [call.output(())]


__all__ = [
    "ELEMENTWISE",
    "KERNELS",
    "Call",
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
