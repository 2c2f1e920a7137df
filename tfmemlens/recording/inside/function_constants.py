"""The constants in the graphs of `tf.function`s, the tensors that one trace alone captured, and the variables
that only traces still keep: every trace keeps what it was made with for as long as the function lives, and a
step's own record shows it without a name.

A graph holds its variables weakly and their handles for good: where a model is given to a function and then
dropped, Python has no variable any more, and the memory stays.
"""

import weakref
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from .living import Clock, objects, tensor_type

LEAST_BYTES, MAX_ROWS, SECONDS = 1024, 1000, 1.0
_CHUNK = 256
_BACKWARD, _FORWARD = "__backward_", "__forward_"
_ONLY_BUILT = ("keras_graph", "scratch_graph")
"""Graphs in which Keras infers shapes, and that never run."""
_VARIABLES = ("ResourceVariable", "BaseResourceVariable", "UninitializedVariable")
_BYTES_OF_TYPE = {
    1: 4,
    2: 8,
    3: 4,
    4: 1,
    5: 2,
    6: 1,
    8: 8,
    9: 8,
    10: 1,
    14: 2,
    17: 2,
    18: 16,
    19: 2,
    22: 4,
    23: 8,
}
"""As types.proto numbers them."""
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
        owned: Set[int] = _handles_of_variables()
        left: Dict[int, Tuple[str, Row]] = {}
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
            for key, row in _left_variables(graph, owned):
                left.setdefault(key, (name, row))
        for key, (name, size) in captured.items():
            if key not in shared:
                traces[name][1] += size
        alone: Dict[Tuple[str, Row], int] = {}
        variables: Dict[str, int] = {}
        for name, row in left.values():
            traces[name][1] += row[3]
            variables[name] = variables.get(name, 0) + row[3]
            alone[name, row] = alone.get((name, row), 0) + 1
        ordered = sorted(counts.items(), key=lambda pair: -pair[0][1][3] * pair[1])[:MAX_ROWS]
        kept = sorted((-size, name, count) for name, (count, size) in traces.items() if size)[:MAX_ROWS]
        functions = [{"name": name, "traces": count, "bytes": -size} for size, name, count in kept]
        for each in functions:
            if each["name"] in variables:
                each["variables"] = variables[each["name"]]
        rows_left = sorted(alone.items(), key=lambda pair: -pair[0][1][3] * pair[1])[:MAX_ROWS]
        told = [dict(_row(name, row, count), variable=True) for (name, row), count in rows_left]
        return told + [_row(name, row, count) for (name, row), count in ordered], functions


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


def _handles_of_variables() -> Set[int]:
    """Those that Python's variables have."""
    handles = set()
    for each in objects(lambda kind: kind.__name__ in _VARIABLES):
        handles.add(id(getattr(each, "_handle", None)))
    return handles


def _left_variables(graph: Any, owned: Set[int]) -> Iterator[Tuple[int, Row]]:
    """The variables that a graph uses and nobody else has."""
    outside, inside = (list(getattr(graph, each, ())) for each in ("external_captures", "internal_captures"))
    for place, tensor in enumerate(outside):
        if id(tensor) in owned or getattr(getattr(tensor, "dtype", None), "name", "") != "resource":
            continue
        row = _variable_behind(tensor, inside[place] if place < len(inside) else None)
        if row is not None and row[3] >= LEAST_BYTES:
            yield id(tensor), row


def _variable_behind(handle: Any, inner: Optional[Any]) -> Optional[Row]:
    """What a handle leads to, None of one that is no variable's, or not known; its name is the graph's."""
    data = getattr(handle, "_handle_data", None)
    types = list(getattr(data, "shape_and_type", ()) or ())
    if len(types) != 1 or getattr(types[0].shape, "unknown_rank", True):
        return None
    shape = tuple(int(each.size) for each in types[0].shape.dim)
    size = _BYTES_OF_TYPE.get(int(types[0].dtype), 0)
    for each in shape:
        size *= max(each, 0)
    return _name_in_graph(inner), shape, int(types[0].dtype), size


def _name_in_graph(inner: Optional[Any]) -> str:
    """`model.dense.MatMul` of a weight; what stands before its placeholder's usual end."""
    readers = inner.consumers() if inner is not None else []
    scopes = [str(op.name).rpartition("/")[0] for op in readers if op.type == "ReadVariableOp"]
    named = next((each for each in scopes if each), "") or str(getattr(inner, "name", "variable"))
    return named.split(":")[0].replace("/", ".")


def _name(name: str) -> Tuple[str, bool]:
    """What a function is called, and whether the graph is a trace of its own: that of its backward pass
    belongs to one.
    """
    for prefix in (_BACKWARD, _FORWARD):
        if name.startswith(prefix):
            return name[len(prefix) :].rstrip("0123456789").rstrip("_"), False
    return name, True
