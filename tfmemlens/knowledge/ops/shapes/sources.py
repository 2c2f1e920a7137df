"""Where shapes come from: feeds, variables, constants, datasets."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import Dims, Shape, ShapeContext, rule
from tfmemlens.model.tensor import TensorType


@rule("Placeholder PlaceholderV2 _Arg")
def _feed(site: ShapeContext) -> list[Shape]:
    if site.open_feeds:
        return [None]
    shape = site.node.attributes.get("shape")
    if not isinstance(shape, tuple):
        return [fed(None, site.feed)]
    if shape == () and site.node.outputs and site.node.outputs[0].shape != ():
        return [site.node.outputs[0].shape]  # a shape that was not stated reads as a scalar in old graphs
    return [fed(shape, site.feed)]


@rule("VariableV2 Variable VarHandleOp TemporaryVariable")
def _variable(site: ShapeContext) -> list[Shape]:
    shape = site.node.attributes.get("shape")
    return [shape if isinstance(shape, tuple) else None]


@rule("Const HostConst")
def _constant(site: ShapeContext) -> list[Shape]:
    value = site.node.attributes.get("value")
    return [value.shape if isinstance(value, TensorType) else None]


@rule("PlaceholderWithDefault")
def _default(site: ShapeContext) -> list[Shape]:
    if site.open_feeds:
        return [None]
    shape = site.node.attributes.get("shape")
    return [shape if isinstance(shape, tuple) and shape else None]


@rule("IteratorGetNext IteratorGetNextSync InfeedDequeueTuple")
def _dataset(site: ShapeContext) -> list[Shape]:
    found = site.node.attributes.get("output_shapes") or site.node.attributes.get("shapes")
    shapes = found if isinstance(found, tuple) else ()
    return [fed(each, site.feed) for each in shapes]


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
