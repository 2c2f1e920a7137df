"""Where shapes come from: feeds, variables, constants, datasets."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import Dims, Shape, ShapeContext, shape_of
from tfmemlens.model.tensor import TensorType


def feed(site: ShapeContext) -> list[Shape]:
    """A feed's own shape, its open dimensions as the user states them."""
    if site.open_feeds:
        return [None]
    shape = site.sides("shape")
    if shape is None:
        return [fed(None, site.feed)]
    if shape == () and site.node.outputs and site.node.outputs[0].shape != ():
        return [site.node.outputs[0].shape]  # a shape that was not stated reads as a scalar in old graphs
    return [fed(shape, site.feed)]


def variable(site: ShapeContext) -> list[Shape]:
    """The shape that the variable declares."""
    return [site.sides("shape")]


def constant(site: ShapeContext) -> list[Shape]:
    """The shape of the value."""
    value = site.node.attributes.get("value")
    return [value.shape if isinstance(value, TensorType) else None]


def default(site: ShapeContext) -> list[Shape]:
    """The shape that the placeholder declares."""
    if site.open_feeds:
        return [None]
    return [site.sides("shape") or None]


def dataset(site: ShapeContext) -> list[Shape]:
    """The shapes that a dataset declares."""
    declared = site.node.attributes.get("output_shapes") or site.node.attributes.get("shapes")
    shapes = declared if isinstance(declared, tuple) else ()
    return [fed(shape_of(each), site.feed) for each in shapes]


def spelled_by_first(site: ShapeContext) -> list[Shape]:
    """The first input spells the shape."""
    return [site.value(0)]


def spelled_by_second(site: ShapeContext) -> list[Shape]:
    """The second input spells the shape."""
    return [site.value(1)]


def fed(shape: Shape, feed: Dims) -> Shape:
    """A feed's shape with its open dimensions as the user states them: all of them where the ranks agree,
    else the first.
    """
    if not feed:
        return shape
    if shape is None:
        return feed if len(feed) > 1 else None
    if len(shape) == len(feed) and all(
        None in pair or pair[0] == pair[1] for pair in zip(shape, feed, strict=True)
    ):
        return tuple(own if own is not None else stated for own, stated in zip(shape, feed, strict=True))
    return (feed[0], *shape[1:]) if shape and shape[0] is None else shape
