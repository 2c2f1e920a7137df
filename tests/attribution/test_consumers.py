"""Who kept a tensor: of its readers the one that ended next to the free."""

from __future__ import annotations

import pytest

from tests.builders import capture, row, timeline
from tfmemlens.attribution.moments import consumers
from tfmemlens.attribution.moments.consumers import graph_of, last_reader
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.timeline import Timeline
from tfmemlens.values import replace

RAN = (("conv", 0.0, 1.0), ("early", 1.0, 2.0), ("late", 4.0, 5.0), ("after", 9.0, 10.0))
EDGES = (("conv", "late"), ("conv", "early"), ("conv", "after"))


def keeper(end: float | None, edges: tuple[tuple[str, str], ...] = EDGES) -> str | None:
    step: Timeline = timeline(row("conv", 1, 0.5, end), ran=RAN)
    (reader,) = last_reader(step.table, capture(step, edges=edges).graph, step)
    return reader


def test_the_reader_that_ended_next_to_the_free_kept_it() -> None:
    assert keeper(5.001) == "late"
    assert keeper(2.001) == "early"


def test_a_reader_that_began_after_the_free_kept_nothing() -> None:
    assert keeper(8.0) == "late"


def test_what_is_never_freed_was_kept_by_the_last_reader() -> None:
    assert keeper(None) == "after"


def test_without_a_reader_nobody_is_named() -> None:
    assert keeper(5.0, edges=(("other", "late"),)) is None


def test_an_op_that_hands_its_buffer_on_passes_the_question_on() -> None:
    """The output of conv is relu's, too: who reads relu keeps conv's buffer."""
    step = timeline(row("conv", 1, 0.5, 5.0), ran=RAN)

    def reader_of(op: str) -> str | None:
        nodes = [Node("conv", "Conv2D"), Node("early", op, ("conv",)), Node("late", "MatMul", ("early",))]
        (reader,) = last_reader(step.table, Graph({node.name: node for node in nodes}), step)
        return reader

    assert reader_of("Relu") == "late"
    assert reader_of("MatMul") == "early"


def test_without_labels_there_is_no_graph() -> None:
    step = timeline(row("conv", 1, 0.5, 5.0), ran=RAN)
    assert graph_of(step) is None


def test_labels_tell_op_and_inputs() -> None:
    labels = ["[CPU] y = Conv2D(x, w)", "z = Relu(y)", "c = NoOp()", "no label"]
    step = timeline(row("y", 1, 0.5, 5.0), ran=RAN)
    labelled = replace(step, executions=replace(step.executions, label=labels))
    graph = graph_of(labelled)
    assert graph is not None
    assert [(node.name, node.op, node.inputs) for node in graph] == [
        ("y", "Conv2D", ("x", "w")),
        ("z", "Relu", ("y",)),
        ("c", "NoOp", ()),
    ]


def test_at_the_very_start_and_among_equals() -> None:
    """A reader may begin when the buffer is freed; of two that ended as near the first is named."""
    step = timeline(row("conv", 1, 0.5, 4.0), ran=(("conv", 0, 1), ("late", 4, 5), ("same", 3, 5)))

    def keeper_of(*readers: str) -> str | None:
        nodes = [Node("conv", "Conv2D"), *(Node(name, "MatMul", ("conv",)) for name in readers)]
        (reader,) = last_reader(step.table, Graph({node.name: node for node in nodes}), step)
        return reader

    assert keeper_of("late") == "late"
    assert (keeper_of("late", "same"), keeper_of("same", "late")) == ("late", "same")


@pytest.mark.parametrize("links, named", [(31, True), (32, False)])
def test_a_buffer_is_followed_through_32_holders(links: int, named: bool) -> None:
    names = ["conv", *(f"r{number}" for number in range(links))]
    nodes = [Node(name, "Relu", (before,)) for name, before in zip(names[1:], names, strict=False)]
    nodes += [Node("conv", "Conv2D"), Node("end", "MatMul", (names[-1],))]
    step = timeline(row("conv", 1, 0.5, 4.0), ran=(("conv", 0, 1), ("end", 3, 4)))
    (reader,) = last_reader(step.table, Graph({node.name: node for node in nodes}), step)
    assert (reader == "end") is named


def test_of_very_many_labels_no_graph_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    step = timeline(row("y", 1, 0.5, 5.0), ran=RAN[:2])
    labelled = replace(step, executions=replace(step.executions, label=["y = Conv2D(x)", "z = Relu(y)"]))
    monkeypatch.setattr(consumers, "MAX_ROWS", 2)
    graph = graph_of(labelled)
    assert graph is not None
    assert [(node.name, node.op, node.inputs) for node in graph] == [
        ("y", "Conv2D", ("x",)), ("z", "Relu", ("y",)),
    ]  # fmt: skip
    monkeypatch.setattr(consumers, "MAX_ROWS", 1)
    assert graph_of(labelled) is None
