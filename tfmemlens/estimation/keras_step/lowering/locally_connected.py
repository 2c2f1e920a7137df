"""Keras 2's layers with a kernel of its own at each place: `backend.local_conv` cuts a window for each, joins
them, and multiplies all with their kernels at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tfmemlens.estimation.keras_step import op_costs
from tfmemlens.estimation.keras_step.lowering._context import (
    LoweringContext,
    NotLowered,
    activated,
    add,
    copied,
)
from tfmemlens.estimation.keras_step.tape import TapeValue

Rule = Callable[[LoweringContext], list[TapeValue]]


def _local(job: LoweringContext) -> list[TapeValue]:
    """The gradient of each window is a tensor as large as the layer's whole input (`StridedSliceGrad`); all
    of them wait to be summed.
    """
    if job.config.get("implementation", 1) != 1:
        raise NotLowered("its implementation 2 or 3 multiplies with one large or sparse matrix")
    tape, x, kernel = job.tape, job.inputs[0], job.needed("kernel")
    places, window, _ = kernel.shape
    windows = [_window(job, x, window) for _ in range(places)]
    joined = tape.op("ConcatV2", windows, (places, x.shape[0], window))
    tape.gradient(joined, windows, lambda grad: [tape.op("Slice", [grad], each.shape) for each in windows])
    made = copied(tape, _product(job, joined, kernel), "Transpose", job.shape, "Transpose")
    bias = job.weight("bias")
    return [activated(job, made if bias is None else add(tape, [made, bias], made.shape))]


def _window(job: LoweringContext, x: TapeValue, size: int) -> TapeValue:
    tape = job.tape
    made = tape.op("StridedSlice", [x], (1, x.shape[0], size))
    tape.gradient(made, [x], lambda grad: [tape.op("StridedSliceGrad", [grad], x.shape)])
    return made


def _product(job: LoweringContext, joined: TapeValue, kernel: TapeValue) -> TapeValue:
    tape, shape = job.tape, (*joined.shape[:2], kernel.shape[-1])
    work = 2.0 * math.prod(shape) * joined.shape[-1] * op_costs.PRODUCT
    made = tape.op("BatchMatMulV2", [joined, kernel], shape, work=work)

    def back(grad: TapeValue) -> list[TapeValue | None]:
        return [
            tape.op("BatchMatMulV2", [grad, other], one.shape, work=work) if tape.needs(one) else None
            for one, other in ((joined, kernel), (kernel, joined))
        ]

    tape.gradient(made, [joined, kernel], back)
    return made


RULES: dict[str, Rule] = dict.fromkeys(("LocallyConnected1D", "LocallyConnected2D"), _local)
