"""A session's run that failed, predicted for the names of what it held."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.estimation.graph_step import failed_run
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.tensor import TensorType
from tfmemlens.values import replace

OPEN = {"dtype": "float32", "shape": (None, 64)}
PAIRS = {"T": "float32", "transpose_b": True}
GRAPH = Graph(
    {
        "x": Node("x", "Placeholder", attributes=OPEN),
        "pairs/MatMul": Node("pairs/MatMul", "MatMul", ("x", "x"), attributes=PAIRS),
        "body/Tanh": Node("body/Tanh", "Tanh", ("pairs/MatMul",), attributes={"T": "float32"}),
    }
)
REQUEST = FailedRequest(RequestKind.TENSOR, node="body/Tanh", shape=(400, 400))
RUN = LiveModel((), (), fetches=("body/Tanh:0",), feeds=(("x", (500, 64)),))


def test_it_has_the_sizes_that_the_run_was_given() -> None:
    (step,) = failed_run.failed_run(GRAPH, RUN, REQUEST)
    assert ("pairs/MatMul", (500, 500)) in zip(step.table.node, step.table.shape, strict=True)


@pytest.mark.parametrize("run", [replace(RUN, feeds=()), replace(RUN, fetches=("other",))])
def test_without_a_shape_or_a_node_of_that_name_nothing_is_told(run: LiveModel) -> None:
    assert failed_run.failed_run(GRAPH, run, REQUEST) == ()


@pytest.mark.parametrize("first, told", [(None, True), (400, False)])
def test_a_batch_that_was_not_fed_is_the_first_size_of_what_failed(first: int | None, told: bool) -> None:
    """Where the graph leaves it open."""
    node = replace(GRAPH.nodes["body/Tanh"], outputs=(TensorType((first, 400), "float32"),))
    graph = Graph({**GRAPH.nodes, "body/Tanh": node})
    found = failed_run.failed_run(graph, replace(RUN, feeds=()), REQUEST)
    assert [(400, 400) in step.table.shape for step in found] == [True] * told


def test_large_graphs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_run, "MAX_NODES", 2)
    assert failed_run.failed_run(GRAPH, RUN, REQUEST) == ()


@pytest.mark.parametrize(
    "run, graph, count", [(RUN, GRAPH, 1), (RUN, None, 0), (replace(RUN, fetches=()), GRAPH, 0)]
)
def test_it_is_asked_for_where_the_program_left_it(run: LiveModel, graph: Graph | None, count: int) -> None:
    read = pipeline.explain(oom("500,500", "body/Tanh")).case.capture
    assert len(pipeline._failed_run(replace(read, live_model=run, graph=graph))) == count
    assert not pipeline._failed_run(replace(read, live_model=None, graph=graph))
