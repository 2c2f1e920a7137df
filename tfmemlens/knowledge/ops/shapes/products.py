"""Matrix products, reductions and losses."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext, axis_of, side_of
from tfmemlens.knowledge.ops.shapes.elementwise import broadcast


def matmul(site: ShapeContext) -> list[Shape]:
    """Rows of the first factor, columns of the second."""
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    attributes = site.node.attributes
    return [
        (
            side_of(left, 1 if attributes.get("transpose_a") else 0),
            side_of(right, 0 if attributes.get("transpose_b") else 1),
        )
    ]


def batch_matmul(site: ShapeContext) -> list[Shape]:
    """A product for each item of the broadcast outer dimensions."""
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    outer, attributes = broadcast([left[:-2], right[:-2]]) or (), site.node.attributes
    return [
        (
            *outer,
            side_of(left, -1 if attributes.get("adj_x") else -2),
            side_of(right, -2 if attributes.get("adj_y") else -1),
        )
    ]


def reduce(site: ShapeContext) -> list[Shape]:
    """Without the axes that the second input spells, or with sides of 1 there."""
    shape, axes = site.shape(0), site.value(1)
    if shape is None:
        return [None]
    keep = bool(site.node.attributes.get("keep_dims") or site.node.attributes.get("keepdims"))
    if axes is None or None in axes:
        return [(None,) * len(shape) if keep else None]
    gone = {axis_of(axis or 0, len(shape)) for axis in axes}
    return [
        tuple(1 if index in gone else side for index, side in enumerate(shape) if keep or index not in gone)
    ]


def best(site: ShapeContext) -> list[Shape]:
    """Without the axis along which the best is looked for."""
    shape, axis = site.shape(0), site.scalar(1)
    if shape is None or axis is None:
        return [None]
    return [tuple(side for at, side in enumerate(shape) if at != axis_of(axis, len(shape)))]


def cross_entropy(site: ShapeContext) -> list[Shape]:
    """A loss for each row, and a gradient like the logits."""
    logits = site.shape(0)
    return [None if logits is None else logits[:1], logits]


def ctc_loss(site: ShapeContext) -> list[Shape]:
    """A loss for each sequence and a gradient for each of its steps: logits are [time, batch, classes]."""
    logits = site.shape(0)
    return [None if logits is None else (side_of(logits, 1),), logits]


def scalar(site: ShapeContext) -> list[Shape]:
    """One number."""
    del site
    return [()]


def einsum(site: ShapeContext) -> list[Shape]:
    """The sides of the labels behind the arrow."""
    left, _, result = site.text("equation").replace(" ", "").partition("->")
    terms = [labels(term, site.shape(index)) for index, term in enumerate(left.split(","))]
    known = {
        label: side
        for index, term in enumerate(terms)
        for label, side in zip(term, site.shape(index) or (), strict=False)
    }
    if None in [site.shape(index) for index in range(len(terms))]:
        return [None]
    return [tuple(known.get(label, 1) for label in labels(result, None, terms))]


def labels(term: str, shape: Shape, terms: Sequence[Sequence[str]] = ()) -> list[str]:
    """The labels of an Einsum's term; those of an ellipsis are `0`, `1`, … (of a result without a shape as
    many as its `terms` have).
    """
    before, dots, after = term.partition("...")
    if not dots:
        return list(term)
    if shape is None:
        hidden = max((sum(label.isdigit() for label in each) for each in terms), default=0)
    else:
        hidden = len(shape) - len(before) - len(after)
    return [*before, *(str(index) for index in range(hidden)), *after]
