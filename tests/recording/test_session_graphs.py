"""What a session's run that failed leaves: its graph, what it was to compute, and what it was given."""

from __future__ import annotations

import threading
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

    def __init__(self, name: str, dtype: str = "float32") -> None:
        self.name = name
        self.dtype = SimpleNamespace(base_dtype=SimpleNamespace(name=dtype))


def test_a_run_leaves_its_graph_its_fetches_and_the_shapes_that_it_was_given(tmp_path: Path) -> None:
    graph = Graph(8, None)
    feed = {Key("x:0"): tensor("", 32, 7), Key("rate:0"): 0.5, "y:0": tensor("", 32)}
    told = saved(tmp_path, graph, [tensor("train"), {"loss": tensor("Mean:0")}, "accuracy"], feed)
    assert told == {"fetches": ["train", "Mean:0", "accuracy"], "feeds": {"x": [32, 7], "rate": []}}
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


class Session:
    def __init__(self, graph: Any) -> None:
        self.graph = graph


def failing(session: Session, fetches: Any, feed: Any = None) -> Any:
    """The traceback of a run that failed."""
    known: dict[str, Any] = {}
    code = "def run(self, fetches, feed_dict=None):\n    raise MemoryError"
    exec(compile(code, "tensorflow/python/client/session.py", "exec"), known)
    with pytest.raises(MemoryError) as told:
        known["run"](session, fetches, feed)
    return told.value.__traceback__


def test_what_failed_is_the_run_of_the_traceback_whatever_ran_after_it(tmp_path: Path) -> None:
    """A hook's fetches are among those of the session that it hooks into; a queue is closed at the end."""
    last, session = session_graphs.LastRun(), Session(Graph(8))
    last.begins(session, ["train", "loss"], None, "train,loss")
    last.begins(session, "close", None, "close")
    assert last.kind == "close" and last.fed == []
    feed = {Key("x:0", "float16"): tensor("", 32, 7), Key("rate:0"): tensor("")}
    last.failed(failing(session, {"caller": ["train", "loss"], "hook": "step"}, feed))
    assert (last.kind, last.graph) == ("train,loss", session.graph)
    assert last.fed == [{"name": "x", "shape": [32, 7], "type": "float16"}]
    assert session_graphs.batch_of(last.fed) == 32
    assert last.saved(Bundle(str(tmp_path)))["fetches"] == ["train", "loss"]


def test_a_failure_outside_of_a_run_tells_nothing_of_the_last_one() -> None:
    last = session_graphs.LastRun()
    last.begins(Session(None), ["train"], {Key("x:0"): tensor("", 32, 7)}, "train")
    last.failed(None)
    assert (last.kind, last.fed, session_graphs.batch_of(last.fed)) == ("train", [], None)


def test_another_thread_is_told_of_the_last_run_that_fills_no_queue() -> None:
    last, session = session_graphs.LastRun(), Session(Graph(8))
    fill = SimpleNamespace(name="fill", type="QueueEnqueueManyV2")
    for fetches in (["train"], fill):
        thread = threading.Thread(target=last.begins, args=(session, fetches, None, str(fetches)[:9]))
        thread.start()
        thread.join()
    assert session_graphs.fills_a_queue(fill) and not session_graphs.fills_a_queue(["train"])
    assert last.kind == "['train']"
    last.begins(session, fill, None, "own")
    assert last.kind == "own"
