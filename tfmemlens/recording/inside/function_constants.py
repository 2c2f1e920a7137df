"""The constants in the graphs of `tf.function`s, and the tensors that one trace alone captured: every trace
keeps those that it was made with for as long as the function lives, and a step's own record shows them
without a name.
"""

import weakref
from typing import Any, Dict, Iterator, List, Set, Tuple

from .living import Clock, objects, tensor_type

LEAST_BYTES, MAX_ROWS, SECONDS = 1024, 1000, 1.0
_CHUNK = 256
_BACKWARD, _FORWARD = "__backward_", "__forward_"
_ONLY_BUILT = ("keras_graph", "scratch_graph")
"""Graphs in which Keras infers shapes, and that never run."""
Row = Tuple[str, Tuple[int, ...], int, int]
"""A constant's name, shape, type as TensorFlow numbers it, and bytes."""


class FunctionConstants:
    """Those of a process; a graph is looked at once."""

    def __init__(self) -> None:
        self._known = weakref.WeakKeyDictionary()  # type: Any

    def told(self) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
        """The constants as rows of a document, equal ones together, the most bytes first; and the functions
        with their traces and the bytes of all their constants and of the tensors that one trace captured.
        """
        clock = Clock(SECONDS)
        counts = {}  # type: Dict[Tuple[str, Row], int]
        traces = {}  # type: Dict[str, List[int]]
        captured: Dict[int, Tuple[str, int]] = {}
        shared: Set[int] = set()
        for graph in graphs():
            if clock.is_over():
                break
            rows = self._known.get(graph)
            if rows is None:
                rows = self._known[graph] = list(_constants(graph, clock))
            name, is_trace = _name(str(graph.name))
            trace = traces.setdefault(name, [0, 0])
            trace[0] += is_trace
            for row in rows:
                trace[1] += row[3]
                counts[name, row] = counts.get((name, row), 0) + 1
            for key, size in _captured(graph):
                if key in captured:
                    shared.add(key)
                captured[key] = name, size
        for key, (name, size) in captured.items():
            if key not in shared:
                traces[name][1] += size
        ordered = sorted(counts.items(), key=lambda pair: -pair[0][1][3] * pair[1])[:MAX_ROWS]
        kept = sorted((-size, name, count) for name, (count, size) in traces.items() if size)[:MAX_ROWS]
        functions = [{"name": name, "traces": count, "bytes": -size} for size, name, count in kept]
        return [_row(name, row, count) for (name, row), count in ordered], functions


def _row(function: str, row: Row, count: int) -> Dict[str, Any]:
    name, shape, dtype, size = row
    return {
        "name": "%s/%s" % (function, name),
        "shape": list(shape),
        "type": dtype,
        "bytes": size,
        "chunk": -(-size // _CHUNK) * _CHUNK,
        "allocator": "",
        "count": count,
    }


def graphs() -> Iterator[Any]:
    """The graphs of functions that live, without those in which shapes are inferred."""
    for each in objects(lambda kind: kind.__name__ == "FuncGraph" and hasattr(kind, "get_operations")):
        if not str(getattr(each, "name", "")).endswith(_ONLY_BUILT):
            yield each


def _constants(graph: Any, clock: Clock) -> Iterator[Row]:
    for op in graph.get_operations():
        if clock.is_over():
            return
        if op.type != "Const":
            continue
        output = op.outputs[0]
        dtype = output.dtype
        if dtype.name in ("resource", "variant", "string") or output.shape.rank is None:
            continue
        shape = tuple(int(each) for each in output.shape)
        size = int(dtype.size)
        for each in shape:
            size *= each
        if size >= LEAST_BYTES:
            yield str(op.name), shape, int(dtype.as_datatype_enum), size


def _captured(graph: Any) -> Iterator[Tuple[int, int]]:
    """The eager tensors that a graph uses from outside: which, and their bytes."""
    for tensor in list(getattr(graph, "external_captures", ())):
        known = tensor_type(tensor) if type(tensor).__name__ == "EagerTensor" else None
        if known is not None and known[3] >= LEAST_BYTES:
            yield id(tensor), known[3]


def _name(name: str) -> Tuple[str, bool]:
    """What a function is called, and whether the graph is a trace of its own: that of its backward pass
    belongs to one.
    """
    for prefix in (_BACKWARD, _FORWARD):
        if name.startswith(prefix):
            return name[len(prefix) :].rstrip("0123456789").rstrip("_"), False
    return name, True
