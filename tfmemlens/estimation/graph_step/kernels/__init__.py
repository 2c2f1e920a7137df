"""What each kernel of the CPU allocates, passes on or makes in place.

After the kernels of TensorFlow 1.15 to 2.21 (core/kernels/*.cc). Shapes, dtypes and whole numbers come from
the table of ops (`knowledge.ops.table`); a kernel here is a function of a call that knows more than the table
does: scratch memory, shared buffers, lists, variables.
"""

from __future__ import annotations

import math

from tfmemlens.estimation.graph_step.kernels import (
    cutting,
    handles,
    lists,
    numbers,
    passing,
    products,
    stacks,
    sums,
    variables,
)
from tfmemlens.estimation.graph_step.kernels._call import KERNELS, KernelCall, UnknownShapeError, known
from tfmemlens.estimation.graph_step.kernels.by_table import by_table, in_place
from tfmemlens.estimation.graph_step.tokens import LARGEST_BYTES, Shape, Token
from tfmemlens.knowledge.ops.table import op
from tfmemlens.model.tensor import TensorType


def is_known(name: str) -> bool:
    """Whether it is known what an op makes."""
    return name in KERNELS or op(name).shape is not None


def run(call: KernelCall) -> list[Token]:
    """The outputs of a call; an op that is not known makes something like its first input, in place where it
    may.
    """
    kernel = KERNELS.get(call.node.op)
    if kernel is not None:
        return kernel(call)
    if call.record.shape is None:
        return guessed(call)
    made = by_table(call)
    if made:
        products.float32_copies(call, made[0])
    return made


def _whole(stated: TensorType) -> Shape | None:
    """The shape that the graph states, None where it is open or larger than a tensor may be."""
    shape = known(stated.shape)
    return shape if shape is not None and 0 <= math.prod(shape) < LARGEST_BYTES // 16 else None


def guessed(call: KernelCall) -> list[Token]:
    """What the graph states of the outputs, else something like the first input."""
    declared = [(shape, each.dtype) for each in call.node.outputs if (shape := _whole(each)) is not None]
    if declared:
        return [call.output(shape, dtype) for shape, dtype in declared]
    if not call.inputs:
        return [call.output(())]
    return [in_place(call, Token(call.input(0).shape, call.dtype))]


__all__ = [
    "KERNELS",
    "KernelCall",
    "UnknownShapeError",
    "cutting",
    "guessed",
    "handles",
    "is_known",
    "lists",
    "numbers",
    "passing",
    "products",
    "run",
    "stacks",
    "sums",
    "variables",
]
