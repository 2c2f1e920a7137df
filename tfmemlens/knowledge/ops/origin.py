"""Where a value comes from, behind the ops that only pass it on."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tfmemlens.knowledge.ops import roles
from tfmemlens.model.graph import Graph, split_reference

_MAX_STEPS = 16
_SOURCES = roles.CONSTANTS | roles.VARIABLES | roles.FEEDS
_CONVERTING = ("Cast", "OptionalGetValue")
"""Ops that make another tensor of the same value."""


def source_of(name: str, graph: Graph | None) -> str:
    """The node that made a value; the node itself without a graph."""
    if graph is None:
        return name
    from tfmemlens.knowledge.ops.table import passes_on

    return _behind(name, graph, lambda op: op not in _SOURCES and (passes_on(op) or op in _CONVERTING))


def behind(name: str, graph: Graph, ops: Collection[str]) -> str:
    """The node from which a value comes through these ops, by their first inputs."""
    return _behind(name, graph, lambda op: op in ops)


def _behind(name: str, graph: Graph, passes: Callable[[str], bool]) -> str:
    for _ in range(_MAX_STEPS):
        op, inputs = graph.op_of(name), graph.inputs_of(name)
        if op is None or not inputs or not passes(op):
            return name
        name = split_reference(inputs[0])[0]
    return name
