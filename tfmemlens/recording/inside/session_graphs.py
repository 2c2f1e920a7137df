"""The graph of a session's run that failed, and what the run was to compute: where no step was recorded
before, a prediction of this one tells who holds the memory.
"""

import os
import threading
import weakref
from collections import deque
from typing import Any, Deque, Dict, Iterator, List, Optional

from .inputs import shape_of
from .run_records import flat

NAME = "session_graph.pb"
MAX_BYTES, MAX_OPS, MAX_FEEDS = 48 << 20, 100_000, 100
_MOST_THREADS, _LATEST = 64, 8
_SESSION = "client/session.py"
"""The end of the source in which all runs of sessions are."""


class _Run:
    """One that a thread began last."""

    def __init__(self, graph: Any, kind: str, fills: bool) -> None:
        self.graph = weakref.ref(graph) if graph is not None else None
        self.kind, self.fills = kind, fills
        self.fetches: List[str] = []
        self.feeds: Dict[str, List[int]] = {}
        self.types: Dict[str, str] = {}


class LastRun:
    """The runs that each thread of a process began last; of their arrays nothing is kept but their shapes.
    What is asked is told of the one that failed where that is known, else of this thread's last, else of the
    last that fills no queue.
    """

    def __init__(self) -> None:
        self._runs: Dict[int, Deque[_Run]] = {}
        self._failed: Optional[_Run] = None

    def begins(self, session: Any, fetches: Any, feed: Any, kind: str = "") -> None:
        """A run begins."""
        thread = threading.get_ident()
        runs = self._runs.pop(thread, None)
        self._runs[thread] = runs = deque(maxlen=_LATEST) if runs is None else runs
        runs.append(_run_of(session, fetches, feed, kind))
        if len(self._runs) > _MOST_THREADS:
            del self._runs[next(iter(self._runs))]

    def failed(self, trace: Any) -> None:
        """The one that a failure of this traceback came through: a program that ends may run others after."""
        known = _locals_of_a_run(trace)
        if known is None:
            return
        run = _run_of(known.get("self"), known.get("fetches"), known.get("feed_dict"), "")
        alike = (
            each
            for each in reversed(self._runs.get(threading.get_ident(), ()))
            if set(each.fetches) <= set(run.fetches) and _same(each.graph, run.graph)
        )
        like = next(alike, None)
        if like is not None:
            run.kind, run.fetches = like.kind, like.fetches
        self._failed = run

    @property
    def _run(self) -> Optional[_Run]:
        if self._failed is not None:
            return self._failed
        own = self._runs.get(threading.get_ident())
        if own:
            return own[-1]
        runs = [each for of_thread in list(self._runs.values()) for each in of_thread]
        return next((each for each in reversed(runs) if not each.fills), runs[-1] if runs else None)

    @property
    def kind(self) -> str:
        """What the recorder calls runs of its kind."""
        return self._run.kind if self._run is not None else ""

    @property
    def graph(self) -> Optional[Any]:
        """Its graph, None where that is gone."""
        run = self._run
        return run.graph() if run is not None and run.graph is not None else None

    @property
    def fed(self) -> List[Dict[str, Any]]:
        """The arrays that the one that failed was given."""
        run = self._failed
        if run is None:
            return []
        rows = run.feeds.items()
        return [{"name": name, "shape": shape, "type": run.types[name]} for name, shape in rows if shape]

    def saved(self, bundle: Any) -> Dict[str, Any]:
        """What is told of it, its graph in a file beside; empty where the graph is too large."""
        run, graph = self._run, self.graph
        if run is None or graph is None or not run.fetches or _bytes(graph) > MAX_BYTES:
            return {}
        data = graph.as_graph_def(add_shapes=True).SerializeToString()
        if len(data) > MAX_BYTES or not bundle.write(NAME, data):
            return {}
        return {"fetches": run.fetches, "feeds": run.feeds}


def fills_a_queue(fetches: Any) -> bool:
    """Whether a run is one of those by which a thread fills a queue beside the steps."""
    op = getattr(fetches, "op", fetches)
    return str(getattr(op, "type", "")).startswith("QueueEnqueue")


def batch_of(fed: List[Dict[str, Any]]) -> Optional[int]:
    """The first size of all arrays that a run was given, where it is one."""
    sizes = {row["shape"][0] for row in fed}
    return sizes.pop() if len(sizes) == 1 else None


def _dtype(key: Any) -> str:
    """What TensorFlow makes of the array that is given for a tensor."""
    dtype = getattr(key, "dtype", None)
    return str(getattr(getattr(dtype, "base_dtype", dtype), "name", ""))


def _run_of(session: Any, fetches: Any, feed: Any, kind: str) -> _Run:
    run = _Run(getattr(session, "graph", None), kind, fills_a_queue(fetches))
    run.fetches = list(_names(fetches))
    for key, value in list(feed.items())[:MAX_FEEDS] if isinstance(feed, dict) else ():
        shape = shape_of(value) if hasattr(key, "name") else None
        if shape is not None:
            name = str(key.name).split(":")[0]
            run.feeds[name] = shape
            run.types[name] = _dtype(key)
    return run


def _locals_of_a_run(trace: Any) -> Optional[Dict[str, Any]]:
    """Of the innermost `Session.run` that an error came through."""
    found = None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "run" and code.co_filename.replace(os.sep, "/").endswith(_SESSION):
            found = trace.tb_frame
        trace = trace.tb_next
    return None if found is None else found.f_locals


def _same(one: Any, other: Any) -> bool:
    """Whether two weak references lead to one object."""
    return one is not None and other is not None and one() is other()


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
