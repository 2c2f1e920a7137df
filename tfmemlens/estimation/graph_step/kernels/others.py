"""What fits nowhere else."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfmemlens.estimation.graph_step.kernels._call import KernelCall, kernel
from tfmemlens.estimation.graph_step.tokens import Token


@kernel("Unique", "UniqueV2")
def _unique(call: KernelCall) -> list[Token]:
    """At worst all are different."""
    shape = call.inputs[0].shape
    return [call.output(shape, call.inputs[0].dtype), call.output(shape, "int32")]


@kernel("TopKV2", "TopK")
def _top_k(call: KernelCall) -> list[Token]:
    shape = (*call.inputs[0].shape[:-1], (call.values(1) or (int(call.attribute("k", 1)),))[0])
    return [call.output(shape, call.inputs[0].dtype), call.output(shape, "int32")]


@kernel("StatelessRandomGetKeyCounter")
def _key_counter(call: KernelCall) -> list[Token]:
    return [call.output((1,), "uint64"), call.output((2,), "uint64")]


@kernel("Einsum")
def _einsum(call: KernelCall) -> list[Token]:
    """Operands are brought to [batch, free, summed] in copies where they stand otherwise, the product to its
    order in another.
    """
    equation = str(call.attribute("equation", "")).replace(" ", "")
    left, _, result = equation.partition("->")
    terms = [_labels(term, token) for term, token in zip(left.split(","), call.inputs, strict=False)]
    sizes = {
        label: size
        for term, token in zip(terms, call.inputs, strict=False)
        for label, size in zip(term, token.shape, strict=False)
    }
    wanted = _labels(result, None, terms)
    product: list[str] = []
    if len(terms) == 2:
        shared = [label for label in terms[0] if label in terms[1]]
        batch = [label for label in shared if label in wanted]
        for index, term in enumerate(terms):
            free = [label for label in term if label not in shared]
            summed = [label for label in term if label in shared and label not in batch]
            if term not in ([*batch, *free, *summed], [*batch, *summed, *free]):
                call.temporary(call.inputs[index].shape, call.inputs[index].dtype)
            product += ([*batch] if index == 0 else []) + free
    shape = [sizes.get(label, 1) for label in wanted]
    if product and product != wanted:
        call.temporary(shape, call.inputs[0].dtype)
    return [call.output(shape, call.inputs[0].dtype)]


def _labels(term: str, token: Token | None, terms: Sequence[Sequence[str]] = ()) -> list[str]:
    """The labels of a term; those of an ellipsis are `0`, `1`, …"""
    before, dots, after = term.partition("...")
    if not dots:
        return list(term)
    if token is None:
        hidden = max((sum(label.isdigit() for label in each) for each in terms), default=0)
    else:
        hidden = len(token.shape) - len(before) - len(after)
    return [*before, *(str(index) for index in range(hidden)), *after]


@kernel("SpaceToBatchND", "BatchToSpaceND")
def _space_to_batch(call: KernelCall) -> list[Token]:
    shape, block, edges = call.inputs[0].shape, call.values(1) or (), call.values(2) or ()
    rank, result = len(block), list(call.inputs[0].shape)
    forward = call.node.op.startswith("Space")
    result[0] = shape[0] * math.prod(block) if forward else shape[0] // max(math.prod(block), 1)
    for index in range(rank):
        before, after = (edges[2 * index], edges[2 * index + 1]) if len(edges) >= 2 * rank else (0, 0)
        size = shape[index + 1]
        result[index + 1] = (
            (size + before + after) // block[index] if forward else size * block[index] - before - after
        )
    return [call.output(result)]


@kernel(
    "Cumsum",
    "Cumprod",
    "ReverseV2",
    "Reverse",
    "ReverseSequence",
    "Roll",
    "RandomShuffle",
    "LRNGrad",
    "TensorScatterUpdate",
    "TensorScatterAdd",
)
def _same_shape(call: KernelCall) -> list[Token]:
    return [call.output(call.inputs[0].shape, call.inputs[0].dtype)]


@kernel(
    "OneShotIterator",
    "Iterator",
    "IteratorV2",
    "AnonymousIterator",
    "AnonymousIteratorV2",
    "AnonymousIteratorV3",
    "MutexV2",
    "HashTableV2",
    "FIFOQueueV2",
)
def _thing(call: KernelCall) -> list[Token]:
    """What lives outside the allocator."""
    del call
    return [Token((), "resource")]
