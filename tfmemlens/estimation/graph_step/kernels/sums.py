"""Reductions and losses."""

from __future__ import annotations

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel
from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.knowledge.ops.shapes import axis_of, products, side_of
from tfmemlens.knowledge.ops.table import those

_MAX_BLOCKS = 3
"""Eigen reduces this many alternating runs of kept and reduced sides at once; others it turns first."""


@kernel(*those(lambda op: op.shape is products.reduce))
def _reduce(call: KernelCall) -> list[Token]:
    """Over sides of 1 there is nothing to do; axes that are not known are taken for all."""
    source, axes = call.input(0), call.values(1)
    rank = len(source.shape)
    reduced = {axis_of(axis, rank) for axis in axes} if axes is not None and rank else set(range(rank))
    made = call.result((1,) * rank if call.attribute("keep_dims", False) else ())
    if all(source.shape[axis] == 1 for axis in reduced):
        return [call.alias(0, made.shape)]
    result = call.fresh(made)
    runs = [at in reduced for at in range(rank) if source.shape[at] != 1]
    blocks = sum(index == 0 or runs[index - 1] != each for index, each in enumerate(runs))
    if blocks > _MAX_BLOCKS:
        call.temporary(source.shape, source.dtype)
    return [result]


@kernel("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
def _cross_entropy(call: KernelCall) -> list[Token]:
    """The gradient may lie in place of the logits; one number a row is scratch."""
    logits = call.input(0).shape
    call.temporary(logits[:1] if call.node.op.startswith("Sparse") else (side_of(logits, 0), 1))
    loss, gradient = call.results()
    return [call.fresh(loss), call.forward([0], gradient)]
