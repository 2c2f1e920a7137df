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
    like = call.input(0).shape if call.inputs else ()
    made = []
    for each in call.node.outputs:
        whole, partly = _whole(each), _filled(each, like)
        if whole is not None:
            made.append(call.output(whole, each.dtype))
        elif call.inputs:
            token = Token(like, call.dtype) if partly is None else Token(partly, each.dtype or call.dtype)
            made.append(in_place(call, token))
    if made:
        return made
    return [in_place(call, Token(like, call.dtype)) if call.inputs else call.output(())]


def _filled(stated: TensorType, like: Shape) -> Shape | None:
    """The sides that the graph states, those that it leaves open as long as the first input's there: the
    first is the batch in most. None where not even their number is stated.
    """
    if not stated.shape or any(not 0 <= (side or 0) < LARGEST_BYTES for side in stated.shape):
        return None
    ends = like or (1,)
    sides = [ends[min(at, len(ends) - 1)] if side is None else side for at, side in enumerate(stated.shape)]
    return tuple(sides) if math.prod(sides) < LARGEST_BYTES // 16 else None


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
