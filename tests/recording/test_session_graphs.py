"""What a session's run that failed leaves: its graph, what it was to compute, and what it was given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfmemlens.recording.inside import session_graphs
from tfmemlens.recording.inside.bundle import Bundle


class Sizes:
    def __init__(self, count: int | None) -> None:
        self.count = count

    def is_fully_defined(self) -> bool:
        return self.count is not None

    def num_elements(self) -> int | None:
        return self.count


class Graph:
    """Of constants of so many numbers of four bytes."""

    def __init__(self, *counts: int | None) -> None:
        self.ops = [
            SimpleNamespace(
                type="Const",
                outputs=[SimpleNamespace(shape=Sizes(count), dtype=SimpleNamespace(size=4))],
            )
            for count in counts
        ]

    def get_operations(self) -> list[Any]:
        return self.ops

    def as_graph_def(self, add_shapes: bool) -> Any:
        assert add_shapes
        return SimpleNamespace(SerializeToString=lambda: b"the graph")


def saved(folder: Path, graph: Graph | None, fetches: Any, feed: Any = None) -> dict[str, Any]:
    last = session_graphs.LastRun()
    last.begins(SimpleNamespace(graph=graph), fetches, feed)
    return last.saved(Bundle(str(folder)))


def tensor(name: str, *shape: int) -> Any:
    return SimpleNamespace(name=name, shape=shape)


class Key:
    """A placeholder: it is a key of a dictionary."""

    def __init__(self, name: str) -> None:
        self.name = name


def test_a_run_leaves_its_graph_its_fetches_and_the_shapes_that_it_was_given(tmp_path: Path) -> None:
    graph = Graph(8, None)
    feed = {Key("x:0"): tensor("", 32, 7), Key("rate:0"): 0.5, "y:0": tensor("", 32)}
    told = saved(tmp_path, graph, [tensor("train"), {"loss": tensor("Mean:0")}, "accuracy"], feed)
    assert told == {"fetches": ["train", "Mean:0", "accuracy"], "feeds": {"x": [32, 7]}}
    assert (tmp_path / session_graphs.NAME).read_bytes() == b"the graph"


@pytest.mark.parametrize(
    "graph, fetches",
    [(None, ["train"]), (Graph(8), []), (Graph(session_graphs.MAX_BYTES // 4 + 1), ["train"])],
)
def test_without_a_graph_of_a_size_or_anything_to_compute_nothing_is_left(
    tmp_path: Path, graph: Graph | None, fetches: list[str]
) -> None:
    assert saved(tmp_path, graph, fetches) == {}
    assert not list(tmp_path.iterdir())


def test_a_graph_that_is_gone_is_not_kept_alive(tmp_path: Path) -> None:
    last, graph = session_graphs.LastRun(), Graph(8)
    last.begins(SimpleNamespace(graph=graph), ["train"], None)
    assert last.graph is graph
    del graph
    assert last.graph is None
    assert last.saved(Bundle(str(tmp_path))) == {}
