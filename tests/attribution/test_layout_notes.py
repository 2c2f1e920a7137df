"""The layout page says how many nodes of a graph are not understood."""

from __future__ import annotations

import pytest

from tests.conftest import SAMPLES
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import TensorType
from tfmemlens.use_cases.layout import graph_capture, layout_report
from tfmemlens.values import replace

AFTER = SAMPLES / "layout" / "1.10-crop.after.pb.gz"
REASON = "its axis is 2, its tensor of rank 2"


def _notes(copies: bool, damaged: int) -> list[str]:
    capture = graph_capture(str(AFTER))
    assert capture.graph is not None
    nodes = {name: node for name, node in capture.graph.nodes.items() if copies}
    nodes["x"] = Node("x", "Placeholder", (), "", {"dtype": "float32", "shape": (2, 3)})
    for index in range(damaged):
        stated = {"T": "float32", "axis": 2, "num": 2}
        nodes[f"odd{index}"] = Node(f"odd{index}", "Unpack", ("x",), "", stated, (TensorType(None, None),))
    graph: Graph = replace(capture.graph, nodes=nodes, functions=capture.graph.functions if copies else {})
    report = layout_report(replace(capture, graph=graph))
    return [note.text for note in report.case.capture.notes if "not understood" in note.text]


@pytest.mark.parametrize("copies", [True, False])
def test_malformed_nodes_are_counted(copies: bool) -> None:
    assert _notes(copies, 0) == []
    assert _notes(copies, 1) == [f"1 node is not understood, and of unknown shape: odd0, because {REASON}"]
    assert _notes(copies, 3) == [
        f"3 nodes are not understood, and of unknown shape: odd0, the first of them, because {REASON}"
    ]
