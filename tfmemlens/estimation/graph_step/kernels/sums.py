"""Reductions and losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel
from tfmemlens.estimation.graph_step.tokens import Token

_WHOLES: dict[str, Callable[[Sequence[int]], int]] = {"Prod": math.prod, "Sum": sum, "Max": max, "Min": min}


@kernel("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm")
def _reduce(call: KernelCall) -> list[Token]:
    source, axes = call.inputs[0], call.values(1)
    rank = len(source.shape)
    chosen = {axis % rank for axis in axes} if axes is not None and rank else set(range(rank))
    keep = bool(call.attribute("keep_dims", False))
    shape = [
        1 if index in chosen else size
        for index, size in enumerate(source.shape)
        if keep or index not in chosen
    ]
    if all(source.shape[axis] == 1 for axis in chosen):
        return [call.alias(0, shape)]
    values = None
    if source.values is not None and rank == 1 and chosen:
        values = (_WHOLES.get(call.node.op, sum)(source.values or (0,)),)
    result = call.output(shape, source.dtype if call.node.op not in ("All", "Any") else "bool", values)
    runs = [at in chosen for at in range(rank) if source.shape[at] != 1]
    blocks = sum(1 for index, each in enumerate(runs) if index == 0 or runs[index - 1] != each)
    if blocks > 3:
        call.temporary(source.shape, source.dtype)
    return [result]


@kernel("ArgMax", "ArgMin")
def _arg_max(call: KernelCall) -> list[Token]:
    axis = (call.values(1) or (0,))[0] % max(len(call.inputs[0].shape), 1)
    shape = [size for index, size in enumerate(call.inputs[0].shape) if index != axis]
    return [call.output(shape, str(call.attribute("output_type", "int64")))]


@kernel("BiasAddGrad")
def _bias_gradient(call: KernelCall) -> list[Token]:
    shape = call.inputs[0].shape
    return [
        call.output((shape[1] if str(call.attribute("data_format", "")).startswith("NC") else shape[-1],))
    ]


@kernel("L2Loss")
def _l2_loss(call: KernelCall) -> list[Token]:
    return [call.output(())]


@kernel("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
def _cross_entropy(call: KernelCall) -> list[Token]:
    logits = call.inputs[0].shape
    call.temporary(logits[:1] if call.node.op.startswith("Sparse") else (logits[0], 1))
    return [call.output(logits[:1]), call.forward([0], logits)]
