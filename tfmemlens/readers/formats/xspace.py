"""XSpace of the TF2 profiler (`*.xplane.pb`): BFC's own events, one for each allocation and each free.

Every `MemoryAllocation` names the op, its shape, what was asked for and what the chunk is, and the
allocator's total after it; a `MemoryDeallocation` has the address. So the curve is exact, for eager code and
tf.functions alike. Only BFC tells these events: a default CPU allocator does not.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.allocation import BEFORE, OUTPUT, PIPELINE, TEMPORARY
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import numpy_dtype_of_enum, parse_shape
from tfmemlens.model.timeline import BaselineSource, CurveSource, Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes.damaged_protobuf import parse_prefix
from tfmemlens.readers.bytes.wire import varint
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.timelines.columns import Columns
from tfmemlens.values import dataclass, replace

HOLDS = Holds.ALLOCATIONS
SUFFIXES = (".xplane.pb",)
COMPANIONS = tuple(
    f".{page}.pb"
    for page in (
        "input_pipeline",
        "kernel_stats",
        "overview_page",
        "tensorflow_stats",
        "op_stats",
        "pod_viewer",
    )
)
"""What the profiler made of an XSpace for TensorBoard's other pages."""
NO_OP = "(null)"
"""What TensorFlow writes where no op asked for the memory."""
SCOPE = "tfmemlens scope:"
"""How the events begin that `run --trace` puts beside TensorFlow's, with a scope of eager tensors."""
_PIPELINE_THREAD = "tf_data_"
"""What TensorFlow's threads are called that run iterators, and the functions of data sets."""
_DATE = regex(r"(\d{4})_(\d\d)_(\d\d)_(\d\d)_(\d\d)_(\d\d)")
_PLANES = (b"/host:", b"/device:", b"/job:", b"Task Environment", b"/custom", b"#")
RECORDING_HINT = (
    "set a BFC allocator (a GPU has one; on the CPU TF_CPU_ALLOCATOR_USE_BFC=1) and record with"
    " tf.profiler.experimental.start/stop around a few steps"
)


def sniff(sample: Sample) -> Confidence:
    """The first plane has an id or a name that profilers give planes."""
    return Confidence.LIKELY if _begins_with_a_plane(sample.binary) else Confidence.NO


def run_of(path: str) -> tuple[str, float | None] | None:
    """The run of the profiler that a file belongs to: `plugins/profile/<date>`, or a dated folder wherever
    it was copied; its name, and when it was (seconds since 1970).
    """
    from datetime import datetime, timezone
    from pathlib import Path

    folder = Path(path).resolve().parent
    date = _DATE.search(folder.name)
    if date is None:
        return (folder.name, None) if folder.parent.name == "profile" else None
    try:
        year, month, day, hour, minute, second = map(int, date.groups())
        written = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        return folder.name, written.timestamp()
    except ValueError:
        return folder.name, None


def _begins_with_a_plane(head: bytes) -> bool:
    if head[:1] != b"\x0a":
        return False
    _, at = varint(head, 1)
    if head[at : at + 1] == b"\x08":  # the plane's id
        _, at = varint(head, at + 1)
    if head[at : at + 1] != b"\x12":
        return False
    length, at = varint(head, at + 1)
    return 0 < length < 200 and head[at : at + length].startswith(_PLANES)


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """A timeline for each allocator that tells its events. Raises UnreadableInput."""
    del hints
    planes, notes = _planes(opened)
    timelines = tuple(timeline for plane in planes for timeline in _timelines(plane))
    if not timelines:
        names = ", ".join(plane.name for plane in planes if plane.name) or "no plane"
        why = (
            f"the tables that name its events stand at the end of a plane, and are cut off (planes: {names})"
            if notes
            else f"no memory events (planes: {names}); {RECORDING_HINT}"
        )
        notes.append(ReadNote(f"{opened.path}: {why}"))
    return Capture(
        Source(opened.path, ("xspace",), "tensorflow", ("2.3", "2.21")),
        timelines=tuple(sorted(timelines, key=lambda each: -each.peak_bytes)),
        notes=tuple(notes),
    )


def _planes(opened: Opened) -> tuple[list[Any], list[ReadNote]]:
    """The planes, parsed, or walked through where the file is too big for that. Raises UnreadableInput."""
    from tfmemlens.readers.bytes import large_protobuf

    if opened.size > large_protobuf.WHOLE:
        parts = large_protobuf.Pieces(opened)
        planes = list(large_protobuf.planes(parts))
        return planes, (
            [ReadNote(f"{opened.path} is cut or damaged; what stands before is shown")] if parts.cut else []
        )
    space, notes = parse_prefix("XSpace", opened.all(), depth=2)
    if space is None:
        raise UnreadableInput(
            f"{opened.path} looks like an XSpace, and none of it can be read",
            "copy the file again, in binary mode",
        )
    return list(space.planes), notes


@dataclass(slots=True)
class Event:
    """One allocation or free, as BFC tells it. A trace may hold a million, so their texts are interned."""

    micros: float
    is_allocation: bool
    size: int = 0
    address: int = 0
    requested: int = 0
    node: str = ""
    region: str = ""
    shape: str = ""
    dtype: int = 0
    in_use: int | None = None
    """The allocator's total after it."""
    fragmentation: float | None = None
    """The allocator's own measure: 1 minus the largest free piece as a share of what is free."""
    available: int = 0
    """What the allocator could still give then, up to its limit."""
    scoped: bool = False
    """Whether the node has the scope of an eager op."""
    of_pipeline: bool = False
    """Whether a thread of a data set's iterator asked for it."""


def _timelines(plane: Any) -> Iterator[Timeline]:
    kinds = {
        key: data.name == "MemoryAllocation"
        for key, data in plane.event_metadata.items()
        if data.name in ("MemoryAllocation", "MemoryDeallocation")
    }
    if not kinds:
        return
    names = {key: data.name for key, data in plane.stat_metadata.items()}
    lanes: dict[str, list[Event]] = {}
    marks = _marks(plane)
    for line in plane.lines:
        start, of_pipeline = line.timestamp_ns / 1e3, line.name.startswith(_PIPELINE_THREAD)
        for event in line.events:
            kind = kinds.get(event.metadata_id)
            if kind is not None:
                facts = {names.get(stat.metadata_id, ""): _value(stat, names) for stat in event.stats}
                told = event_of(start + event.offset_ps / 1e6, kind, facts)
                told.of_pipeline = of_pipeline
                if marks and not of_pipeline and told.node and "/" not in told.node:
                    scope = _scope_at(marks, told.micros)
                    told.node, told.scoped = sys.intern(scope + told.node), bool(scope)
                lanes.setdefault(str(facts.get("allocator_name", "")), []).append(told)
    for allocator, events in lanes.items():
        yield timeline_of(plane.name, allocator, sorted(events, key=lambda event: event.micros))


def _marks(plane: Any) -> list[tuple[float, str]]:
    """When the scope of eager tensors changed, and which it had been, as `run --trace` notes it."""
    scopes = {
        key: data.name.removeprefix(SCOPE).strip("/")
        for key, data in plane.event_metadata.items()
        if data.name.startswith(SCOPE)
    }
    return sorted(
        (line.timestamp_ns / 1e3 + event.offset_ps / 1e6, scope)
        for line in (plane.lines if scopes else ())
        for event in line.events
        if (scope := scopes.get(event.metadata_id)) is not None
    )


def _scope_at(marks: list[tuple[float, str]], micros: float) -> str:
    """`encoder/dense/`, which ended next; empty in no scope."""
    at = bisect_left(marks, (micros, ""))
    scope = marks[at][1] if at < len(marks) else ""
    return f"{scope}/" if scope else ""


def _value(stat: Any, names: dict[int, str]) -> Any:
    if stat.HasField("str_value"):
        return stat.str_value
    if stat.HasField("ref_value"):
        return names.get(stat.ref_value, "")
    for field in ("uint64_value", "int64_value", "double_value"):
        if stat.HasField(field):
            return getattr(stat, field)
    return None


def event_of(micros: float, is_allocation: bool, facts: Mapping[str, Any]) -> Event:
    """An event of its stats, by TensorFlow's names for them (`BFCAllocator::AddTraceMe`)."""

    def number(name: str) -> int:
        return int(facts.get(name) or 0)

    def text(name: str) -> str:
        return sys.intern(str(facts.get(name) or ""))

    fragmentation = facts.get("fragmentation")
    return Event(
        micros,
        is_allocation,
        number("allocation_bytes"),
        number("addr"),
        number("requested_bytes"),
        text("tf_op") if facts.get("tf_op") != NO_OP else "",
        text("region_type"),
        text("shape"),
        number("data_type"),
        None if facts.get("bytes_allocated") is None else number("bytes_allocated"),
        fragmentation if isinstance(fragmentation, float) and 0 <= fragmentation <= 1 else None,
        number("bytes_available") + number("bytes_reserved"),
    )


def timeline_of(plane: str, allocator: str, events: list[Event]) -> Timeline:
    """The timeline of one allocator's events, which are in order of time."""
    columns, alive = Columns(), dict[int, int]()
    votes: Counter[int] = Counter()
    running = before = 0
    limit = None
    addresses: list[int] = []
    for event in events:
        if event.is_allocation:
            alive[event.address] = _born(columns, event)
            addresses.append(event.address)
            running += event.size
        elif event.address in alive:
            row = alive.pop(event.address)
            columns.end_micros[row] = event.micros
            running -= columns.size_bytes[row]
        else:  # it belongs to the baseline, and leaves it
            row = columns.add(None, event.size, None, events[0].micros, BEFORE)
            addresses.append(event.address)
            columns.end_micros[row] = event.micros
            running -= event.size
            before += event.size
        if event.in_use is not None:
            votes[event.in_use - running] += 1
            limit = event.in_use + event.available or limit
    device = (
        plane
        if ":" in allocator or not allocator.startswith("GPU_")
        else f"/device:GPU:{allocator.split('_')[1]}"
    )
    timeline = Timeline(
        device,
        allocator,
        columns.table(device, allocator),
        curve_source=CurveSource.EVENTS,
        addresses=addresses if all(addresses) else (),
        fragmentation=[
            (event.micros, event.fragmentation) for event in events if event.fragmentation is not None
        ],
        scoped=frozenset(event.node for event in events if event.scoped),
    )
    if not votes:
        return timeline
    baseline, count = votes.most_common(1)[0]
    share = count / sum(votes.values())
    return replace(
        timeline,
        baseline_bytes=max(baseline - before, 0),
        baseline_confidence=share,
        baseline_source=BaselineSource.EVENTS,
        limit_bytes=limit,
    )


def _born(columns: Columns, event: Event) -> int:
    purpose = PIPELINE if event.of_pipeline else _PURPOSES.get(event.region, event.region or None)
    row = columns.add(event.node or None, event.size, None, event.micros, purpose)
    columns.requested_bytes[row] = event.requested or None
    columns.dtype[row] = numpy_dtype_of_enum(event.dtype)
    columns.shape[row] = _shape(event.shape)
    return row


_PURPOSES = {"temp": TEMPORARY, "output": OUTPUT}


@lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[int | None, ...] | None:
    try:
        return parse_shape(text) if text.startswith("[") else None
    except ValueError:
        return None
