"""Whose the tensors of eager ops are: these have no name but their op's, and the program's model tells which
layer, or which variable of no layer, alone makes tensors as wide.
"""

from __future__ import annotations

from tfmemlens.attribution.names.node_names import owner_of
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.graph import Graph
from tfmemlens.model.live_model import LEAST_BYTES, LiveModel, is_transposed
from tfmemlens.model.timeline import Timeline
from tfmemlens.values import replace


def named_by_width(timeline: Timeline, model: LiveModel | None, graph: Graph | None) -> Timeline:
    """The same with `layer/MatMul` for what eager execution calls `MatMul`, where one layer is as wide."""
    if model is None or not model.variables:
        return timeline
    table = timeline.table
    nodes, owners = list(table.node), dict(timeline.owners)
    for row, (node, shape, size) in enumerate(zip(table.node, table.shape, table.size_bytes, strict=True)):
        if not node or not shape or size < LEAST_BYTES or not _is_eager(node, graph):
            continue
        if owner := _owner(node, shape, model):
            way = "gradient/" if owner.phase is Phase.GRADIENT else ""
            name = f"{owner.layer}/{way}{node}"
            nodes[row], owners[name] = name, owner
    return replace(timeline, table=replace(table, node=nodes), owners=owners)


def _is_eager(node: str, graph: Graph | None) -> bool:
    """Whether a node is an op's type alone, and none of a graph."""
    if "/" in node or node in roles.STORED or (graph is not None and graph.op_of(node) is not None):
        return False
    return owner_of(node).op == node


def _owner(op: str, shape: tuple[int | None, ...], model: LiveModel) -> Owner | None:
    """A tensor in the shape of one layer's weight that an op makes is the weight's gradient."""
    weights = model.with_weight(shape)
    layer = weights[0] if len(weights) == 1 else None
    if not weights:
        layer = model.widest_like(shape)
    if layer is None:
        return None
    owner = replace(owner_of(op, op), layer=layer)
    forward = "BackpropInput" in op and is_transposed(dict(model.layers).get(layer))
    if weights or op.endswith("Grad") or ("Backprop" in op and not forward):
        kind = owner.kind if owner.kind is Kind.WORKSPACE else Kind.GRADIENT
        return replace(owner, kind=kind, phase=Phase.GRADIENT)
    return replace(owner, kind=Kind.ACTIVATION, phase=Phase.FORWARD) if forward else owner
