"""A graph from a file beside a trace that has none, or less: op types, shapes and readers of the nodes that
the trace names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfmemlens.knowledge.ops.origin import source_of
from tfmemlens.model.allocation import PERSISTENT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.capture import Capture
from tfmemlens.model.graph import Graph, Node, split_reference, variables_on
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import TensorType
from tfmemlens.model.timeline import BaselineSource, Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import round_up
from tfmemlens.values import replace

_UPDATES = regex(r"Resource(?:Sparse)?Apply|Assign\w*VariableOp")


def join(traced: Capture, given: Graph) -> Capture:
    """The capture with the given graph. What the trace itself knows of a node stays: it ran that way."""
    own = traced.graph or Graph({})
    nodes = {**given.nodes, **{node.name: _richer(node, given.nodes.get(node.name)) for node in own}}
    graph = Graph(nodes, {**given.functions, **own.functions}, own.producer or given.producer)
    known = _by_name(given)
    timelines = tuple(with_variables(_joined(timeline, known), graph) for timeline in traced.timelines)
    notes = traced.notes
    if traced.timelines and not has_nodes_of(given, traced):
        notes = (
            *notes,
            ReadNote("none of the graph's nodes is in the trace: is it the graph of another model?"),
        )
    return replace(traced, graph=graph, timelines=timelines, notes=notes)


def has_nodes_of(given: Graph, traced: Capture) -> bool:
    """Whether the traced steps ran any node of this graph."""
    known = _by_name(given)
    return any(name in known for timeline in traced.timelines for name in timeline.table.node)


def with_variables(timeline: Timeline, graph: Graph) -> Timeline:
    """On a baseline that is the sum of known variables, those that the graph updates stand, too: a slot's
    value is no op's output.
    """
    if timeline.baseline_source is not BaselineSource.STANDING:
        return timeline
    updating = graph.of_ops(set(filter(_UPDATES.match, graph.ops)))
    updated = {split_reference(reference)[0] for node in updating for reference in node.inputs}
    if not updated:
        return timeline
    shown = zip(timeline.standing.node, timeline.standing.dtype, strict=True)
    seen = {
        source_of(name, graph) for name, dtype in shown if name is not None and dtype != "resource"
    }  # a handle is not its variable
    added = [
        row
        for node in variables_on(graph, timeline.device)
        if node.name in updated - seen and (row := _row(node, timeline)).size_bytes
    ]
    if not added:
        return timeline
    standing = AllocationTable.of([*timeline.standing, *added])
    return replace(timeline, standing=standing, original=timeline).standing_on(
        timeline.baseline_bytes + sum(row.size_bytes for row in added), None, BaselineSource.STANDING
    )


def _row(node: Node, timeline: Timeline) -> Allocation:
    shape, dtype = node.attributes.get("shape"), node.attributes.get("dtype")
    kind = TensorType(shape if isinstance(shape, tuple) else None, str(dtype) if dtype else None)
    return Allocation(
        node.name,
        kind.bytes or 0,
        node.op,
        timeline.device,
        timeline.allocator,
        kind.bytes,
        shape=kind.shape,
        dtype=kind.dtype,
        purpose=PERSISTENT,
    )


def _richer(node: Node, given: Node | None) -> Node:
    return (
        node
        if given is None
        else replace(node, outputs=node.outputs or given.outputs, source=node.source or given.source)
    )


def _by_name(graph: Graph) -> dict[str, Node]:
    """The graph's nodes, and those of its functions by the names that they have inside."""
    inner = {node.name: node for function in graph.functions.values() for node in function}
    return {**inner, **graph.nodes}


def _joined(timeline: Timeline, known: Mapping[str, Node]) -> Timeline:
    """The same curve, its rows with what the graph adds."""
    return replace(
        timeline,
        table=_described(timeline.table, known),
        standing=_described(timeline.standing, known),
        original=timeline,
    )


def _described(table: AllocationTable, known: Mapping[str, Node]) -> AllocationTable:
    nodes = [known.get(name) if name is not None else None for name in table.node]
    if not any(nodes):
        return table
    ops = [op or (node.op if node else None) for op, node in zip(table.op, nodes, strict=True)]
    shapes, dtypes = list(table.shape), list(table.dtype)
    purposes: Sequence[Any] = table.purpose
    for row, node in enumerate(nodes):
        if (
            node
            and shapes[row] is None
            and purposes[row] != TEMPORARY
            and (fits := _fitting(node, table.size_bytes[row], table.requested_bytes[row]))
        ):
            shapes[row], dtypes[row] = fits.shape, fits.dtype
    return replace(table, op=ops, shape=shapes, dtype=dtypes)


def _fitting(node: Node, size: int, requested: int | None) -> TensorType | None:
    """The output whose type needs just these bytes, if there is one."""
    for output in node.outputs:
        if output.bytes and (
            output.bytes == requested
            or (requested is None and size in (output.bytes, round_up(output.bytes)))
        ):
            return output
    return None
