"""The graph of a traced step with the type of every output, as the step itself made them."""

from __future__ import annotations

from typing import Any

from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType, numpy_dtype_of_enum
from tfmemlens.readers.timelines.step_stats import keeps_memory, op_of
from tfmemlens.values import replace


def graph_with_types(step_stats: Any, known: Graph | None) -> Graph | None:
    """The graph with the type of every output that the step made; without a graph one of the timeline labels,
    which name op and inputs.
    """
    nodes = dict(known.nodes) if known else {}
    for device in step_stats.dev_stats:
        if not keeps_memory(device.device):
            continue
        for stats in device.node_stats:
            node = nodes.get(stats.node_name)
            if node is None and known is None:
                node = _of_label(stats.node_name, stats.timeline_label)
            if node is not None and not (node.name in nodes and node.outputs):
                nodes[node.name] = replace(node, outputs=_types(stats))
    return (
        Graph(nodes, known.functions if known else {}, known.producer if known else None) if nodes else None
    )


def _of_label(name: str, label: str) -> Node | None:
    """`[bfc 2.0MB] conv/Relu = _FusedConv2D(x, conv/w)` as a node; feeds have no label."""
    if name.startswith("_arg_"):
        return Node(name, "_Arg")
    op = op_of(label)
    inside = label[label.find("(", label.find(" = ")) + 1 : label.rfind(")")] if op else ""
    return Node(name, op, tuple(part.strip() for part in inside.split(",") if part.strip())) if op else None


def _types(stats: Any) -> tuple[TensorType, ...]:
    """Output types by slot; a slot that was not made (the dead side of a Switch) has no shape."""
    tensors = {output.slot: output.tensor_description for output in stats.output}
    none = TensorType(None, None)
    return tuple(
        (
            TensorType(
                None if each.shape.unknown_rank else tuple(dim.size for dim in each.shape.dim),
                numpy_dtype_of_enum(each.dtype),
            )
            if each
            else none
        )
        for each in (tensors.get(slot) for slot in range(max(tensors, default=-1) + 1))
    )
