"""Small timelines for tests, rows in MiB and milliseconds; and messages of protobuf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfmemlens.model.allocation import OUTPUT, TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.capture import Capture, Source
from tfmemlens.model.graph import Graph, Node
from tfmemlens.model.timeline import BaselineSource, Executions, Timeline
from tfmemlens.schema import message

MIB = 1 << 20
DEVICE, ALLOCATOR = "/job:localhost/replica:0/task:0/device:GPU:0", "GPU_0_bfc"


def row(node: str, mib: float, start: float, end: float | None, *, scratch: bool = False) -> Allocation:
    """An allocation of so many MiB, alive from start to end in milliseconds."""
    shape = None if scratch else (int(mib * MIB / 4),)
    return Allocation(
        node,
        int(mib * MIB),
        device=DEVICE,
        allocator=ALLOCATOR,
        start_micros=start * 1000,
        end_micros=None if end is None else end * 1000,
        shape=shape,
        dtype=None if scratch else "float32",
        purpose=TEMPORARY if scratch else OUTPUT,
    )


def timeline(
    *rows: Allocation, baseline_mib: float = 0, ran: tuple[tuple[str, float, float], ...] = ()
) -> Timeline:
    """A timeline of these rows; `ran` are (node, start, end) in milliseconds."""
    columns = zip(*ran, strict=True) if ran else ((), (), ())
    nodes, starts, ends = (list(column) for column in columns)
    executions = Executions(nodes, [1000 * each for each in starts], [1000 * each for each in ends])
    return Timeline(
        DEVICE,
        ALLOCATOR,
        AllocationTable.of(list(rows)),
        baseline_bytes=int(baseline_mib * MIB),
        baseline_confidence=1.0,
        baseline_source=BaselineSource.ALLOCATOR,
        executions=executions,
    )


def capture(*timelines: Timeline, edges: tuple[tuple[str, str], ...] = ()) -> Capture:
    """A capture of timelines; `edges` are (producer, consumer) of its graph."""
    names = {name for edge in edges for name in edge}
    nodes = {
        name: Node(name, "Op", tuple(source for source, target in edges if target == name)) for name in names
    }
    return Capture(
        Source("trace.pb", ("run-metadata",), "tensorflow"),
        timelines=timelines,
        graph=Graph(nodes) if edges else None,
    )


def built(kind: str, **given: Any) -> Any:
    """The message of that name with these fields, messages inside it as dicts. Protobuf 4.21 takes no dict
    for the value of a map, as later ones do.
    """
    made = message(kind)()
    _fill(made, given)
    return made


def _fill(made: Any, given: Mapping[Any, Any]) -> None:
    for name, value in given.items():
        field = getattr(made, name)
        if hasattr(field, "GetEntryClass"):
            _fill_map(field, value)
        elif isinstance(value, Mapping):
            field.SetInParent()
            _fill(field, value)
        elif isinstance(value, list | tuple):
            _fill_list(field, value)
        else:
            setattr(made, name, value)


def _fill_map(entries: Any, given: Mapping[Any, Any]) -> None:
    for key, value in given.items():
        if isinstance(value, Mapping):
            _fill(entries[key], value)
        else:
            entries[key] = value


def _fill_list(items: Any, given: list[Any] | tuple[Any, ...]) -> None:
    for value in given:
        if isinstance(value, Mapping):
            _fill(items.add(), value)
        else:
            items.append(value)
