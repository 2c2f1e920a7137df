"""The graph of a session's run that failed, and what the run was to compute: where no step was recorded
before, a prediction of this one tells who holds the memory.
"""

import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional

from .run_records import flat

NAME = "session_graph.pb"
MAX_BYTES, MAX_OPS, MAX_FEEDS = 48 << 20, 100_000, 100


class LastRun:
    """The run that a process began last; of its arrays nothing is kept but their shapes."""

    def __init__(self) -> None:
        self._graph: Optional[Callable[[], Any]] = None
        self.kind = ""
        """What the recorder calls runs of its kind."""
        self._fetches: List[str] = []
        self._feeds: Dict[str, List[int]] = {}

    def begins(self, session: Any, fetches: Any, feed: Any, kind: str = "") -> None:
        """A run begins."""
        self.kind = kind
        graph = getattr(session, "graph", None)
        self._graph = weakref.ref(graph) if graph is not None else None
        self._fetches, self._feeds = list(_names(fetches)), {}
        for key, value in list(feed.items())[:MAX_FEEDS] if isinstance(feed, dict) else ():
            shape = getattr(value, "shape", None)
            if shape is not None and hasattr(key, "name"):
                self._feeds[str(key.name).split(":")[0]] = [int(size) for size in tuple(shape)]

    @property
    def graph(self) -> Optional[Any]:
        """Its graph, None where that is gone."""
        return self._graph() if self._graph is not None else None

    def saved(self, bundle: Any) -> Dict[str, Any]:
        """What is told of it, its graph in a file beside; empty where the graph is too large."""
        graph = self.graph
        if graph is None or not self._fetches or _bytes(graph) > MAX_BYTES:
            return {}
        data = graph.as_graph_def(add_shapes=True).SerializeToString()
        if len(data) > MAX_BYTES or not bundle.write(NAME, data):
            return {}
        return {"fetches": self._fetches, "feeds": self._feeds}


def _names(fetches: Any) -> Iterator[str]:
    """The names of what is fetched, whatever holds it."""
    for each in flat(fetches):
        name = each if isinstance(each, str) else getattr(each, "name", None)
        if isinstance(name, str):
            yield name


def _bytes(graph: Any) -> int:
    """What the constants of a graph hold: a data set may be among them; much for a graph of very many ops."""
    ops = graph.get_operations()
    if len(ops) > MAX_OPS:
        return MAX_BYTES + 1
    size = 0
    for op in ops:
        if op.type == "Const" and op.outputs[0].shape.is_fully_defined():
            size += int(op.outputs[0].shape.num_elements()) * int(op.outputs[0].dtype.size)
    return size
