"""The types of all tensors of a graph: a small shape inference for graphs that do not carry their shapes.

Shapes flow from placeholders, variables and constants through the ops of convolutional nets and their
gradients, whole-number vectors (shapes, axes, paddings) with them. What no rule knows stays None. Against
TensorFlow's own inference: `tests/knowledge/test_type_inference.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.dtypes import dtypes_of
from tfmemlens.knowledge.ops.shapes import Shape, ShapeContext
from tfmemlens.knowledge.ops.table import op
from tfmemlens.knowledge.ops.values import values_of
from tfmemlens.knowledge.topological_order import topological_order
from tfmemlens.model.graph import Graph, split_reference
from tfmemlens.model.tensor import TensorType

UNKNOWN = TensorType(None, None)
Types = Mapping[str, tuple[TensorType, ...]]


def infer(
    graph: Graph,
    known: Mapping[str, TensorType] | None = None,
    feed: tuple[int | None, ...] = (),
    open_feeds: bool = False,
    malformed: MutableMapping[str, str] | None = None,
) -> Types:
    """The output types of each node. `known` are types measured in a run; `feed` is the shape of what will be
    fed, or its first dimension alone.

    With `open_feeds` a feed's shape counts as unknown, whatever it declares: Grappler sees it so, because any
    shape may be fed. `malformed` takes up the nodes that lack what their op's rule builds on, each with the
    reason; their shapes count as unknown unless they are stated.
    """
    problems = {} if malformed is None else malformed
    types: dict[str, tuple[TensorType, ...]] = {}
    values: dict[tuple[str, int], tuple[int | None, ...]] = {}
    sent = {
        str(node.attributes.get("tensor_name")): node.inputs[0]
        for node in graph
        if node.op in roles.SENDS and node.inputs
    }
    for node in topological_order(graph):
        references = [split_reference(each) for each in node.inputs if not each.startswith("^")]
        if node.op in roles.RECEIVES and (source := sent.get(str(node.attributes.get("tensor_name")))):
            references = [split_reference(source)]
        site = ShapeContext(
            node,
            [_type(types, *each) for each in references],
            [values.get(each) for each in references],
            feed,
            open_feeds,
        )
        types[node.name] = _typed(site, (known or {}).get(node.name), problems)
        numbers = values_of(site, op(node.op).values)
        values.update({(node.name, port): value for port, value in enumerate(numbers) if value is not None})
    return types


def has_rule(name: str) -> bool:
    """Whether the inference knows an op type."""
    return op(name).shape is not None


def type_of(types: Types, reference: str) -> TensorType:
    """The type behind an input as a GraphDef spells it."""
    return _type(types, *split_reference(reference))


def _type(types: Types, name: str, port: int) -> TensorType:
    outputs = types.get(name, ())
    return outputs[port] if 0 <= port < len(outputs) else UNKNOWN


def shapes_of(site: ShapeContext) -> list[Shape]:
    """The shapes of a node's outputs as its rule has them, None where one is not known; empty where the op is
    not known. Raises MalformedNode where the node lacks what the rule builds on.
    """
    rule = op(site.node.op).shape
    return rule(site) if rule else []


def _typed(
    site: ShapeContext, measured: TensorType | None, problems: MutableMapping[str, str]
) -> tuple[TensorType, ...]:
    """What the rule says; where it knows nothing, what the graph or a run says."""
    try:
        shapes = shapes_of(site)
    except MalformedNode as problem:
        problems[site.node.name] = str(problem)
        shapes = []
    count = max(len(shapes), len(site.node.outputs), 1)
    dtypes = dtypes_of(site, op(site.node.op), count)
    types = [TensorType(shapes[port] if port < len(shapes) else None, dtypes[port]) for port in range(count)]
    for port, stated in enumerate(() if site.open_feeds else site.node.outputs):
        if types[port].shape is None or (types[port].bytes is None and stated.bytes is not None):
            types[port] = TensorType(stated.shape, types[port].dtype or stated.dtype)
    if measured is not None and measured.shape is not None and types[0].bytes is None:
        types[0] = TensorType(measured.shape, measured.dtype or types[0].dtype)
    return tuple(types)
