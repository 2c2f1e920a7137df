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
_MOST_FOLDED = 10 << 20
_FOLDS = frozenset(
    "Fill MatrixBandPart Cast Mul Sub Add AddV2 RealDiv Pow Neg Sqrt Rsqrt Square Exp Sin Cos Range "
    "Reshape Tile ExpandDims Squeeze Transpose ConcatV2 Pack BroadcastTo OneHot Greater GreaterEqual "
    "Less LessEqual Equal NotEqual LogicalNot LogicalAnd LogicalOr Select SelectV2 OnesLike ZerosLike "
    "StridedSlice MatMul Einsum MatrixDiag MatrixDiagV3 GatherV2 Floor FloorDiv FloorMod Maximum "
    "Minimum Identity".split()
)
"""Ops that tell the same whenever they run, and of which masks, positions and tables are made."""
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
        folded = {}  # type: Dict[Tuple[str, Row], int]
        traces = {}  # type: Dict[str, List[int]]
        captured: Dict[int, Tuple[str, int]] = {}
        shared: Set[int] = set()
        owned: Set[int] = _handles_of_variables()
        left: Dict[int, Tuple[str, Row]] = {}
        for graph in graphs():
            if clock.is_over():
                break
            if graph not in self._known:
                ops = graph.get_operations()
                self._known[graph] = list(_constants(ops, clock)), list(_folded(ops, clock))
            rows, computed = self._known[graph]
            name, is_trace = _name(str(graph.name))
            trace = traces.setdefault(name, [0, 0])
            trace[0] += is_trace
            for row in rows:
                trace[1] += row[3]
                counts[name, row] = counts.get((name, row), 0) + 1
            for row in computed:
                folded[name, row] = folded.get((name, row), 0) + 1
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
        kept = sorted((-size, name, count) for name, (count, size) in traces.items() if size)[:MAX_ROWS]
        functions = [{"name": name, "traces": count, "bytes": -size} for size, name, count in kept]
        for each in functions:
            if each["name"] in variables:
                each["variables"] = variables[each["name"]]
        told = [dict(row, variable=True) for row in _rows(alone)] + _rows(counts)
        return told + [dict(row, folded=True) for row in _rows(folded)], functions


def _rows(counts: Dict[Tuple[str, Row], int]) -> List[Dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda pair: -pair[0][1][3] * pair[1])[:MAX_ROWS]
    return [_row(name, row, count) for (name, row), count in ordered]


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


def _constants(ops: Any, clock: Clock) -> Iterator[Row]:
    for op in ops:
        if clock.is_over():
            return
        row = _row_of(str(op.name), op.outputs[0]) if op.type == "Const" else None
        if row is not None:
            yield row


def _is_folded(op: Any, constant: Set[str]) -> bool:
    """Whether TensorFlow computes it once, before any step: what constants alone tell, by an op that always
    says the same (`ConstantFold`, of no more than 10 MiB).
    """
    inputs = list(getattr(op, "inputs", ()))
    if op.type not in _FOLDS or op.control_inputs or not inputs or len(op.outputs) != 1:
        return False
    row = _row_of("", op.outputs[0], 0)
    return (
        row is not None and row[3] <= _MOST_FOLDED and all(str(each.op.name) in constant for each in inputs)
    )


def _folded(ops: Any, clock: Clock) -> Iterator[Row]:
    """What the runtime computes of constants alone when it takes the graph: it keeps what an op reads that
    waits for the step.
    """
    constant = set()  # type: Set[str]
    done = set()  # type: Set[str]
    for op in ops:
        if clock.is_over():
            return
        if op.type == "Const" or _is_folded(op, constant):
            constant.add(str(op.name))
            continue
        for each in list(getattr(op, "inputs", ())):
            name = str(each.op.name)
            if name in constant and name not in done and each.op.type != "Const":
                done.add(name)
                row = _row_of(name, each)
                if row is not None:
                    yield row


def _row_of(name: str, output: Any, least: int = LEAST_BYTES) -> Optional[Row]:
    """A tensor whose shape is known, where it is large enough."""
    dtype = output.dtype
    if dtype.name in ("resource", "variant", "string") or output.shape.rank is None:
        return None
    shape, size = [], int(dtype.size)
    for each in output.shape:
        if each is None or getattr(each, "value", each) is None:
            return None
        shape.append(int(each))
        size *= shape[-1]
    return (name, tuple(shape), int(dtype.as_datatype_enum), size) if size >= least else None


def _captured(graph: Any) -> Iterator[Tuple[int, int]]:
    """The eager tensors that a graph uses from outside: which, and their bytes."""
    for tensor in list(getattr(graph, "external_captures", ())):
        known = tensor_type(tensor) if type(tensor).__name__ == "EagerTensor" else None
        if known is not None and known[3] >= LEAST_BYTES:
            yield id(tensor), known[3]


def _handles_of_variables() -> Set[int]:
    """Those that Python's variables have."""
    handles = set()
    for each in objects(_is_variable):
        handles.add(id(getattr(each, "_handle", None)))
    return handles


def _is_variable(kind: type) -> bool:
    """Also what a function makes when it is first called, which has a class of its own."""
    return any(base.__name__ in _VARIABLES for base in kind.__mro__)


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
