"""A graph of 100,000 nodes: what each repeats is kept once, and none is made before it is looked at."""

from __future__ import annotations

from tfmemlens.model.lazy_nodes import LazyNodes
from tfmemlens.readers.graphs.proto_graph import of_graph_defs
from tfmemlens.schema import parse_text

GRAPH = """
node { name: "dense/kernel" op: "VarHandleOp" device: "/device:GPU:0" }
node { name: "dense/kernel/read" op: "Identity" input: "dense/kernel" device: "/device:GPU:0" }
node { name: "split" op: "Split" input: "dense/kernel/read" input: "^init" device: "/device:GPU:0" }
node { name: "sum" op: "Identity" input: "split:1" input: "split" input: "later" }
node { name: "split" op: "Other" }
"""


def test_ops_and_devices_are_shared() -> None:
    nodes = of_graph_defs([parse_text("GraphDef", GRAPH)]).nodes
    kernel, read, split = nodes["dense/kernel"], nodes["dense/kernel/read"], nodes["split"]
    assert read.inputs == ("dense/kernel",)
    assert read.op is nodes["sum"].op and kernel.device is split.device
    assert split.op == "Split", "the first of two nodes of one name stays"
    assert split.inputs == ("dense/kernel/read", "^init")
    assert nodes["sum"].inputs == ("split:1", "split", "later")


def test_readers_by_port_without_those_that_only_wait() -> None:
    graph = of_graph_defs([parse_text("GraphDef", GRAPH)])
    assert graph.consumers == {
        "dense/kernel": (("dense/kernel/read", 0, 0),),
        "dense/kernel/read": (("split", 0, 0),),
        "split": (("sum", 0, 1), ("sum", 1, 0)),
        "later": (("sum", 2, 0),),
    }
    assert graph.waiters == {"init": ("split",)}
    assert graph.ops == {"VarHandleOp", "Identity", "Split"}


def test_a_node_is_made_when_it_is_looked_at_and_once() -> None:
    graph = of_graph_defs([parse_text("GraphDef", GRAPH)])
    assert isinstance(graph.nodes, LazyNodes)
    made: list[str] = []
    make = graph.nodes._make
    graph.nodes._make = lambda name: made.append(name) or make(name)  # type: ignore[func-returns-value]
    assert graph.op_of("split") == "Split" and graph.inputs_of("sum") == ("split:1", "split", "later")
    assert graph.op_of("later") is None and graph.inputs_of("later") == ()
    assert graph.names_of_ops({"Identity", "Split"}) == ["dense/kernel/read", "split", "sum"]
    assert graph.consumers.get("nobody") is None and "split" in graph.nodes and not made
    assert [node.name for node in graph.of_ops({"Identity"})] == ["dense/kernel/read", "sum"] == made
    assert graph.nodes["sum"] is graph.nodes["sum"] and made == ["dense/kernel/read", "sum"]


def test_partitions_keep_the_first_node_of_a_name() -> None:
    one = 'node { name: "a" op: "Const" } node { name: "b" op: "Add" input: "a" }'
    two = 'node { name: "b" op: "Mul" } node { name: "c" op: "Sub" input: "b" device: "/device:GPU:0" }'
    graph = of_graph_defs([parse_text("GraphDef", one), parse_text("GraphDef", two)])
    assert [(node.name, node.op, node.inputs) for node in graph] == [
        ("a", "Const", ()),
        ("b", "Add", ("a",)),
        ("c", "Sub", ("b",)),
    ]
    assert graph.nodes["c"].device == "/device:GPU:0"
    assert graph.consumers == {"a": (("b", 0, 0),), "b": (("c", 0, 0),)}
