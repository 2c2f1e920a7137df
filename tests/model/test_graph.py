"""Who reads whom in a graph."""

from __future__ import annotations

from tfmemlens.model.graph import Graph, Node, data_sources


def test_sources_are_in_the_order_of_the_inputs_without_those_that_are_only_waited_for() -> None:
    graph = Graph({"sum": Node("sum", "AddV2", ("b:1", "^start", "a", "b"))})
    assert graph.sources_of("sum") == ["b", "a", "b"]
    assert graph.sources_of("b") == [], "there is no such node"
    assert data_sources(("pass/y:output:0", "^pass/x")) == ["pass/y"]
