"""Ops that keep a shape or broadcast several."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext
from tfmemlens.model.tensor import format_shape


def same(site: ShapeContext) -> list[Shape]:
    """The shape of the first input."""
    return [
        (
            next((each.shape for each in site.inputs if each.bytes is not None), site.shape(0))
            if site.node.op.endswith("Grad")
            else site.shape(0)
        )
    ]


def read(site: ShapeContext) -> list[Shape]:
    """A VarHandleOp tells its variable's shape; a handle that is passed in tells only its own."""
    return [None if site.inputs and site.inputs[0].dtype == "resource" else site.shape(0)]


def each(site: ShapeContext) -> list[Shape]:
    """Each output is like its input."""
    return [each.shape for each in site.inputs]


def switch(site: ShapeContext) -> list[Shape]:
    """Either output is like the input."""
    return [site.shape(0), site.shape(0)]


def merge(site: ShapeContext) -> list[Shape]:
    """The first branch whose shape is known, and its number."""
    return [next((each.shape for each in site.inputs if each.shape is not None), None), ()]


def broadcasted(site: ShapeContext) -> list[Shape]:
    """What two operands broadcast to."""
    return [broadcast([site.shape(0), site.shape(1)])]


def selected(site: ShapeContext) -> list[Shape]:
    """Like the branches; SelectV2 broadcasts them with the condition."""
    branches = [site.shape(1), site.shape(2)]
    return [
        (
            broadcast([site.shape(0), *branches])
            if site.node.op == "SelectV2"
            else next((each for each in branches if each is not None), None)
        )
    ]


def sum_of(site: ShapeContext) -> list[Shape]:
    """Like any of the summands."""
    return [next((each.shape for each in site.inputs if each.bytes is not None), site.shape(0))]


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """NumPy's rule; an unknown dimension beside a known one that is not 1 must equal it. Raises MalformedNode
    where sides differ that are not 1.
    """
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    sides = list(zip(*[(1,) * (rank - len(shape)) + shape for shape in known], strict=True))
    if any(len({each for each in side if each is not None and each != 1}) > 1 for side in sides):
        raise MalformedNode(f"{' and '.join(map(format_shape, known))} do not go together")
    return tuple(
        next((each for each in side if each is not None and each != 1), None if None in side else 1)
        for side in sides
    )
