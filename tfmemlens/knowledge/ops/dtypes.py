"""The dtypes of an op's outputs, from its attributes."""

from __future__ import annotations

from tfmemlens.knowledge.ops.record import Op, Output
from tfmemlens.knowledge.ops.shapes import ShapeContext
from tfmemlens.model.graph import Node
from tfmemlens.model.tensor import ITEM_BYTES

_LISTS = ("component_types", "output_types", "Tout", "dtypes")
_USUAL = ("DstT", "dtype", "tensor_type", "output_type", "out_type", "T", "Tparams")


def dtypes_of(site: ShapeContext, op: Op, count: int) -> list[str | None]:
    """The dtype of each output."""
    node = site.node
    if op.dtypes:
        specs = (*op.dtypes, *op.dtypes[-1:] * count)[:count]
        return [_by(spec, node) for spec in specs]
    for name in _LISTS:
        listed = node.attributes.get(name)
        if isinstance(listed, tuple):
            kinds = [each if isinstance(each, str) else None for each in listed]
            return (kinds + [None] * count)[:count]
    first = next((stated for name in _USUAL if (stated := _stated(node, name))), None)
    if first is None and site.inputs and op.output is Output.PASSED:
        first = site.inputs[0].dtype
    return [first] * count


def _by(spec: str, node: Node) -> str | None:
    """`out_type=int32`: what the attribute says, else what stands behind it; an attribute or a dtype."""
    name, _, default = spec.partition("=")
    stated = None if name in ITEM_BYTES else _stated(node, name)
    if stated is None and default:
        stated = default if default in ITEM_BYTES else _stated(node, default)
    return name if name in ITEM_BYTES else stated


def _stated(node: Node, name: str) -> str | None:
    value = node.attributes.get(name)
    return value if isinstance(value, str) else None
