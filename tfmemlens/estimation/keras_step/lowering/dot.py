"""Keras's `Dot`: `batch_dot` turns the summed axis of the first tensor to the end, and that of the second to
the front, and multiplies per sample.

Grappler lets the forward product read what was turned as it stood (`FoldTransposeIntoMatMul`); the gradients
still read it turned, and several products of one tensor share it. The gradient of what was turned comes out
turned and is turned back, each product's for itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tfmemlens.estimation.keras_step import op_costs
from tfmemlens.estimation.keras_step.lowering._context import (
    FIRST,
    LAST,
    LoweringContext,
    NotLowered,
    multiply,
)
from tfmemlens.estimation.keras_step.tape import Sizes, Tape, TapeValue

Rule = Callable[[LoweringContext], list[TapeValue]]


def _dot(job: LoweringContext) -> list[TapeValue]:
    tape, (x, y) = job.tape, job.inputs
    if max(len(x.shape), len(y.shape)) > 3:
        raise NotLowered("it multiplies tensors of more than three dimensions")
    one, two = _axes(job, len(x.shape), len(y.shape))
    if job.config.get("normalize"):
        x, y = _normalized(tape, x, one), _normalized(tape, y, two)
    if len(x.shape) == 2:
        x, one = tape.alias(x, (x.shape[0], 1, x.shape[1])), 2
    if len(y.shape) == 2:
        y, two = tape.alias(y, (*y.shape, 1)), 1
    made = _product(tape, x, y, turned_x=one == 1, turned_y=two == 2)
    return [tape.alias(made, job.shape)]


def _axes(job: LoweringContext, *ranks: int) -> tuple[int, int]:
    told = job.config.get("axes", job.config.get("dot_axes", -1))
    one, two = told if isinstance(told, list | tuple) else (told, told)
    return one % ranks[0], two % ranks[1]


def _normalized(tape: Tape, x: TapeValue, axis: int) -> TapeValue:
    """X times one over its length along the axis."""
    shape = tuple(1 if at == axis else size for at, size in enumerate(x.shape))
    squares = tape.op("Square", [x])
    total = tape.op("Sum", [squares], shape)
    tape.gradient(squares, [x], lambda grad: [tape.op("Mul", [grad, x], over=[grad])])
    tape.gradient(total, [squares], lambda grad: [tape.op("Tile", [grad], x.shape)])
    length = tape.op("Rsqrt", [total], over=[total])
    tape.gradient(length, [total], lambda grad: [tape.op("RsqrtGrad", [length, grad], over=[grad])])
    return multiply(tape, x, length, x.shape)


def _product(tape: Tape, x: TapeValue, y: TapeValue, turned_x: bool, turned_y: bool) -> TapeValue:
    """[samples, rows, summed] @ [samples, summed, columns], each perhaps still to be turned."""
    left, right = _turned_sizes(x, turned_x), _turned_sizes(y, turned_y)
    shape = (*left[:2], right[2])
    work = 2.0 * math.prod(left) * right[2] * op_costs.PRODUCT
    made = tape.op("BatchMatMulV2", [x, y], shape, x.dtype, work=work)
    forward = {
        value.index: _turned(tape, value) if turned and tape.needs(other) else value
        for value, other, turned in ((x, y, turned_x), (y, x, turned_y))
    }

    def back(grad: TapeValue) -> list[TapeValue | None]:
        gradients: list[TapeValue | None] = []
        for one, other, sizes, rank in ((x, y, left, LAST), (y, x, right, FIRST)):
            if not tape.needs(one):
                gradients.append(None)
                continue
            factor = forward[other.index]
            share = tape.op("BatchMatMulV2", [grad, factor], sizes, one.dtype, work=work, rank=rank)
            gradients.append(share if sizes == one.shape else tape.op("Transpose", [share], one.shape))
        return gradients

    tape.gradient(made, [x, y], back)
    return made


def _turned_sizes(value: TapeValue, turned: bool) -> Sizes:
    samples, rows, columns = value.shape
    return (samples, columns, rows) if turned else (samples, rows, columns)


def _turned(tape: Tape, value: TapeValue) -> TapeValue:
    """The tensor with its last two axes swapped: made once for all who ask."""
    sizes = _turned_sizes(value, True)
    key = (value.buffer, sizes)
    if key not in tape.turned_once:
        tape.turned_once[key] = tape.op("Transpose", [value], sizes)
    return tape.turned_once[key]


RULES: dict[str, Rule] = {"Dot": _dot}
