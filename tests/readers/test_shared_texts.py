"""A graph of 100,000 nodes: what each node repeats is kept once."""

from __future__ import annotations

from tfmemlens.readers.graphs.proto_graph import of_graph_defs
from tfmemlens.schema import parse_text

GRAPH = """
node { name: "dense/kernel" op: "VarHandleOp" device: "/device:GPU:0" }
node { name: "dense/kernel/read" op: "Identity" input: "dense/kernel" device: "/device:GPU:0" }
node { name: "split" op: "Split" input: "dense/kernel/read" input: "^init" device: "/device:GPU:0" }
node { name: "sum" op: "Identity" input: "split:1" input: "split" input: "later" }
node { name: "split" op: "Other" }
"""


def test_names_ops_and_devices_are_shared() -> None:
    nodes = of_graph_defs([parse_text("GraphDef", GRAPH)]).nodes
    kernel, read, split = nodes["dense/kernel"], nodes["dense/kernel/read"], nodes["split"]
    assert read.inputs == ("dense/kernel",) and read.inputs[0] is kernel.name
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
