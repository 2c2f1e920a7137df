"""Matrix products, reductions and losses."""

from __future__ import annotations

from tfmemlens.costs.type_rules._site import Shape, Site, rule
from tfmemlens.costs.type_rules.elementwise import broadcast


@rule("MatMul _FusedMatMul SparseMatMul")
def _matmul(site: Site) -> list[Shape]:
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    turned = site.node.attributes.get("transpose_a"), site.node.attributes.get("transpose_b")
    return [(left[1 if turned[0] else 0], right[0 if turned[1] else 1])]


@rule("BatchMatMul BatchMatMulV2 BatchMatMulV3")
def _batch_matmul(site: Site) -> list[Shape]:
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    outer = broadcast([left[:-2], right[:-2]])
    adjoint = site.node.attributes.get("adj_x"), site.node.attributes.get("adj_y")
    return [None if outer is None else (*outer, left[-1 if adjoint[0] else -2], right[-2 if adjoint[1] else -1])]


@rule("Mean Sum Max Min Prod All Any")
def _reduce(site: Site) -> list[Shape]:
    shape, axes = site.shape(0), site.value(1)
    if shape is None:
        return [None]
    keep = bool(site.node.attributes.get("keep_dims") or site.node.attributes.get("keepdims"))
    if axes is None:
        return [(None,) * len(shape) if keep else None]
    gone = {axis % len(shape) for axis in axes if axis is not None}
    return [tuple(1 if index in gone else side for index, side in enumerate(shape) if keep or index not in gone)]


@rule("ArgMax ArgMin")
def _best(site: Site) -> list[Shape]:
    shape, axis = site.shape(0), site.value(1)
    return [None if shape is None or axis is None or axis[0] is None else tuple(side for at, side in enumerate(shape) if at != axis[0] % len(shape))]


@rule("SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits")
def _cross_entropy(site: Site) -> list[Shape]:
    logits = site.shape(0)
    return [None if logits is None else logits[:1], logits]


@rule("L2Loss Size Rank")
def _scalar(site: Site) -> list[Shape]:
    del site
    return [()]
