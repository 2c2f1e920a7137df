"""Steps of graphs in which several nodes run at once."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.estimation.test_graphs import GRAPHS, truth
from tfmemlens.estimation.graph_step.session import of_graph
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.tensor import Constant
from tfmemlens.readers.formats.graph_file import read_graph
from tfmemlens.units import MIB


def branches(count: int) -> Graph:
    """So many products of [1024, 1024], each of which is read at once and then summed with the others."""
    nodes = [
        Node("x", "Placeholder", (), attributes={"shape": (1024, 1024), "dtype": "float32"}),
        Node("axes", "Const", (), attributes={"value": Constant((2,), "int32", (0, 1))}),
    ]
    for at in range(count):
        nodes.append(Node(f"product{at}", "MatMul", ("x", "x"), attributes={"T": "float32"}))
        nodes.append(Node(f"sum{at}", "Sum", (f"product{at}", "axes"), attributes={"T": "float32"}))
    sums = tuple(f"sum{at}" for at in range(count))
    nodes.append(Node("loss", "AddN", sums, attributes={"T": "float32"}))
    return Graph({node.name: node for node in nodes})


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_as_many_branches_hold_their_product_as_there_are_threads(workers: int) -> None:
    timeline = of_graph(branches(8), ["loss"], workers=workers, chance=Random(0))
    assert timeline.peak_bytes // (4 * MIB) == workers


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.name.removesuffix(".meta.gz"))
def test_a_step_on_four_threads_runs_the_same_nodes_and_gives_all_memory_back(graph: Path) -> None:
    facts = truth(graph)
    one, four = (
        of_graph(read_graph(graph), facts["fetches"], facts["batch"], workers=workers, chance=Random(1))
        for workers in (1, 4)
    )
    assert sorted(one.executions.node) == sorted(four.executions.node)
    assert one.baseline_bytes == pytest.approx(four.baseline_bytes, rel=0.02)
