"""Matrix products, reductions and losses."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext, rule
from tfmemlens.knowledge.ops.shapes.elementwise import broadcast


@rule("MatMul _FusedMatMul SparseMatMul")
def _matmul(site: ShapeContext) -> list[Shape]:
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    attributes = site.node.attributes
    return [
        (left[1 if attributes.get("transpose_a") else 0], right[0 if attributes.get("transpose_b") else 1])
    ]


@rule("BatchMatMul BatchMatMulV2 BatchMatMulV3")
def _batch_matmul(site: ShapeContext) -> list[Shape]:
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    outer, attributes = broadcast([left[:-2], right[:-2]]) or (), site.node.attributes
    return [
        (*outer, left[-1 if attributes.get("adj_x") else -2], right[-2 if attributes.get("adj_y") else -1])
    ]


@rule("Mean Sum Max Min Prod All Any")
def _reduce(site: ShapeContext) -> list[Shape]:
    shape, axes = site.shape(0), site.value(1)
    if shape is None:
        return [None]
    keep = bool(site.node.attributes.get("keep_dims") or site.node.attributes.get("keepdims"))
    if axes is None or None in axes:
        return [(None,) * len(shape) if keep else None]
    gone = {(axis or 0) % len(shape) for axis in axes}
    return [
        tuple(1 if index in gone else side for index, side in enumerate(shape) if keep or index not in gone)
    ]


@rule("ArgMax ArgMin")
def _best(site: ShapeContext) -> list[Shape]:
    shape, axis = site.shape(0), site.scalar(1)
    if shape is None or axis is None:
        return [None]
    return [tuple(side for at, side in enumerate(shape) if at != axis % len(shape))]


@rule("SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits")
def _cross_entropy(site: ShapeContext) -> list[Shape]:
    logits = site.shape(0)
    return [None if logits is None else logits[:1], logits]


@rule("L2Loss Size Rank")
def _scalar(site: ShapeContext) -> list[Shape]:
    del site
    return [()]
