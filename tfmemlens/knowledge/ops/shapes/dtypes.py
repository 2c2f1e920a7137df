"""The dtypes of an op's outputs, from its attributes."""

from __future__ import annotations

from tfmemlens.knowledge.ops.shapes._context import ShapeContext
from tfmemlens.model.graph import Node

_BOOLEAN = frozenset(
    "Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot IsNan IsInf IsFinite"
    " ApproximateEqual All Any".split()
)


_PASSING = frozenset(
    "Identity Enter RefEnter Exit NextIteration Switch Merge StopGradient PreventGradient IdentityN".split()
)


def dtypes_of(site: ShapeContext, count: int) -> list[str | None]:
    """The dtype of each output."""
    node = site.node
    if node.op in _BOOLEAN:
        return ["bool"] * count
    if node.op in ("Shape", "ShapeN", "Size", "Rank", "ConcatOffset"):
        return [_stated(node, "out_type") or "int32"] * count
    listed = next(
        (
            found
            for name in ("component_types", "output_types", "Tout", "dtypes")
            if isinstance(found := node.attributes.get(name), tuple)
        ),
        None,
    )
    if listed is not None:
        kinds = [each if isinstance(each, str) else None for each in listed]
        return (kinds + [None] * count)[:count]
    names = ("DstT", "dtype", "tensor_type", "output_type", "out_type", "T", "Tparams")
    first = next((found for name in names if (found := _stated(node, name))), None)
    if first is None and site.inputs and node.op in _PASSING:
        first = site.inputs[0].dtype
    rest = _stated(node, "U") or first
    return [first, *[rest if "BatchNorm" in node.op and "Grad" not in node.op else first] * (count - 1)]


def _stated(node: Node, name: str) -> str | None:
    found = node.attributes.get(name)
    return found if isinstance(found, str) else None
