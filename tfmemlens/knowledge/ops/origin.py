"""Where a value comes from, behind the ops that only pass it on."""

from __future__ import annotations

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

    for _ in range(_MAX_STEPS):
        op, inputs = graph.op_of(name), graph.inputs_of(name)
        if op is None or op in _SOURCES or not inputs:
            return name
        if not passes_on(op) and op not in _CONVERTING:
            return name
        name = split_reference(inputs[0])[0]
    return name
