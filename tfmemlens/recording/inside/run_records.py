"""What a RunMetadata of TensorFlow 1 tells in the process itself: how much a step allocates, and the
constants that a session keeps.

A session keeps the constants of every graph that it ever ran as long as it lives: the initial values of
variables, a data set that is part of the graph. A step's own record shows only its own, so that the first run
of each kind is asked for what its constants hold. Where it must not be asked, the graph is.
"""

from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from .bundle import MAX_TRACE_BYTES

MAX_BYTES = 32 << 20
"""A larger record of a step is not looked at."""
MAX_RUNS, MAX_ROWS, LEAST_BYTES = 12, 400, 1024
MAX_OPS = 20_000
_CONST = " = Const("
_MOST_FOLDED = 10 << 20
"""What TensorFlow works out before a run, and keeps as a constant, is no larger (constant_folding.cc)."""
_CHUNK = 256
"""What an allocator rounds up to."""


def stats(data: bytes, run_metadata: Optional[Callable[[], Any]]) -> Optional[Any]:
    """The step's own record, without the graphs; None where there is none, or it is too large."""
    end = _end_of_stats(data)
    if run_metadata is None or not 0 < end <= MAX_BYTES:
        return None
    metadata = run_metadata()
    metadata.ParseFromString(data[:end])
    return metadata.step_stats


def kept(data: bytes) -> bytes:
    """What is written of it: all, or the record alone where a graph has a data set in it and is too large."""
    return data if len(data) <= MAX_TRACE_BYTES else data[: _end_of_stats(data)]


def allocated(step_stats: Any) -> int:
    """The bytes that a step allocates, whenever it frees them."""
    return sum(
        int(memory.total_bytes)
        for device in step_stats.dev_stats
        for node in device.node_stats
        for memory in node.memory
    )


class Constants:
    """Those of a process, as long as their sessions live."""

    def __init__(self) -> None:
        self._runs = 0
        self._kept: List[Tuple[Callable[[], bool], List[Dict[str, Any]]]] = []
        self._seen: Set[Any] = set()

    @property
    def wanted(self) -> bool:
        """Whether another run is to be looked at."""
        return self._runs < MAX_RUNS

    def take(self, step_stats: Any, session: Optional[Callable[[], Any]]) -> None:
        """What a run's constants hold; `session` is a weak reference, None where it is not known."""
        self._keep(_rows(step_stats), session)

    def take_graph(self, fetches: Any, session: Optional[Callable[[], Any]]) -> None:
        """The same of what a run will fetch, by the graph: without allocators, chunks and places."""
        self._keep(_constants_behind(fetches), session)

    def _keep(self, found: Iterator[Dict[str, Any]], session: Optional[Callable[[], Any]]) -> None:
        self._runs += 1
        rows = [row for row in found if self._is_new(row)]
        if rows:
            self._kept.append((_alive(session), rows))

    def told(self) -> List[Dict[str, Any]]:
        """As rows of a document, the most bytes first."""
        rows = [row for alive, mine in self._kept if alive() for row in mine]
        return sorted(rows, key=lambda row: -int(row["chunk"]))[:MAX_ROWS]

    def _is_new(self, row: Dict[str, Any]) -> bool:
        """Each buffer once, though several runs show it."""
        key = row["allocator"], row.pop("place") or (row["name"], self._runs)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def _alive(session: Optional[Callable[[], Any]]) -> Callable[[], bool]:
    """Whether a session still has its graphs."""
    if session is None:
        return lambda: True
    known = session
    return lambda: known() is not None and not getattr(known(), "_closed", False)


def _rows(step_stats: Any) -> Iterator[Dict[str, Any]]:
    """The constants with a buffer of their own: name, bytes asked for, and the allocator's chunk."""
    for device in step_stats.dev_stats:
        for node in device.node_stats:
            if _CONST not in node.timeline_label:
                continue
            for output in node.output:
                told = output.tensor_description
                where = told.allocation_description
                size = where.allocated_bytes or where.requested_bytes
                if size < LEAST_BYTES or not (where.ptr or where.allocation_id):
                    continue
                yield {
                    "name": node.node_name,
                    "shape": [int(each.size) for each in told.shape.dim],
                    "type": int(told.dtype),
                    "bytes": int(where.requested_bytes),
                    "chunk": int(size),
                    "allocator": where.allocator_name,
                    "place": int(where.ptr),
                }


def _constants_behind(fetches: Any) -> Iterator[Dict[str, Any]]:
    """The constants that what is fetched is made of, and what TensorFlow fills and keeps as such."""
    waiting = [getattr(each, "op", each) for each in flat(fetches)]
    seen: Set[int] = set()
    while waiting and len(seen) < MAX_OPS:
        op = waiting.pop()
        if id(op) in seen or not hasattr(op, "control_inputs"):
            continue
        seen.add(id(op))
        waiting += [each.op for each in op.inputs] + list(op.control_inputs)
        folded = op.type == "Fill" and all(each.op.type == "Const" for each in op.inputs)
        if not (folded or op.type == "Const") or not op.outputs[0].shape.is_fully_defined():
            continue
        tensor = op.outputs[0]
        size = int(tensor.shape.num_elements()) * int(tensor.dtype.size)
        if folded and size > _MOST_FOLDED:
            continue
        if size >= LEAST_BYTES and tensor.dtype.name != "string":
            yield {
                "name": op.name,
                "shape": [int(each) for each in tensor.shape],
                "type": int(tensor.dtype.as_datatype_enum),
                "bytes": size,
                "chunk": -(-size // _CHUNK) * _CHUNK,
                "allocator": "",
                "place": 0,
            }


def flat(fetches: Any) -> Iterator[Any]:
    """What is fetched, out of its lists and dictionaries."""
    if isinstance(fetches, dict):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)):
        for each in fetches:
            for inner in flat(each):
                yield inner
    else:
        yield fetches


def _end_of_stats(data: bytes) -> int:
    """Where the first field of a RunMetadata ends, the step's record; 0 where it is no such message."""
    if data[:1] != b"\x0a":
        return 0
    at, size, shift = 1, 0, 0
    while at < len(data):
        byte = data[at]
        at += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return at + size if at + size <= len(data) else 0
