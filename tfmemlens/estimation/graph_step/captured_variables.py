"""Graphs of concrete functions: variables come in as placeholders of resources, and become variables here.

A variable's shape is what our exporter wrote beside it, or what those who read and update it tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfmemlens.errors import UsageError
from tfmemlens.knowledge.ops.roles import reads_variable, updates_rows, updates_variable
from tfmemlens.knowledge.ops.table import passes_on
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

_HINT = (
    "export the graph anew with the script that `tfmemlens layout --print-exporter` prints: it writes the"
    " variables' shapes down"
)


def is_function(graph: Graph) -> bool:
    """Whether a graph is the body of a function that captured variables."""
    return any(_is_captured(node) for node in graph)


def effects(graph: Graph) -> list[str]:
    """What a function runs in any case: its updates of variables."""
    return [f"^{node.name}" for node in graph if updates_variable(node.op) or updates_rows(node.op)]


def with_variables(graph: Graph) -> Graph:
    """The graph with handles of variables in place of captured ones, as far as their shapes can be told."""
    variables = {node.name: made for node in graph if _is_captured(node) and (made := _variable(node, graph))}
    return Graph({**graph.nodes, **variables}, graph.functions, graph.producer) if variables else graph


def check(graph: Graph, names: Iterable[str]) -> None:
    """Raises UsageError when one of these nodes is a variable whose shape could not be told."""
    for name in names:
        if _is_captured(graph.nodes[name]) and any(
            updates_variable(node.op) or reads_variable(node.op) for node, _ in _readers(name, graph, set())
        ):
            raise UsageError(f"the shape of the variable behind {name} is not in the graph", _HINT)


def _is_captured(node: Node) -> bool:
    return node.op == "Placeholder" and node.attributes.get("dtype") == "resource"


def _variable(node: Node, graph: Graph) -> Node | None:
    shape, dtype = node.attributes.get("_tfmemlens_shape"), node.attributes.get("_tfmemlens_dtype")
    name = node.attributes.get("_tfmemlens_variable") or node.name
    if not isinstance(shape, tuple):
        told = next(
            (
                each
                for each in _told(node.name, graph, set())
                if each.shape is not None and None not in each.shape
            ),
            None,
        )
        if told is None:
            return None
        shape, dtype = told.shape, told.dtype
    attributes = {**node.attributes, "shape": shape, "dtype": dtype or "float32", "shared_name": name}
    return replace(node, op="VarHandleOp", attributes=attributes)


def _readers(name: str, graph: Graph, seen: set[str]) -> Iterator[tuple[Node, int]]:
    """Who uses a handle, and as which input, behind whatever hands it on."""
    for reader, index, _ in graph.consumers.get(name, ()):
        node = graph.nodes[reader]
        if not passes_on(node.op) or reads_variable(node.op):
            yield node, index
        elif reader not in seen:
            seen.add(reader)
            yield from _readers(reader, graph, seen)


def _told(name: str, graph: Graph, seen: set[str]) -> Iterator[TensorType]:
    for node, index in _readers(name, graph, seen):
        dtype = str(node.attributes.get("dtype") or node.attributes.get("T") or "float32")
        if node.op == "ReadVariableOp" and node.outputs:
            yield TensorType(node.outputs[0].shape, dtype)
        elif updates_variable(node.op):
            data = [reference for reference in node.inputs if not reference.startswith("^")]
            for reference in data[index + 1 :] if node.op.startswith("Assign") else data[::-1]:
                source, port = split_reference(reference)
                given = graph.nodes.get(source)
                if (
                    given is not None
                    and port < len(given.outputs)
                    and (given.outputs[port].shape or node.op.startswith("Assign"))
                ):
                    yield TensorType(given.outputs[port].shape, dtype)
