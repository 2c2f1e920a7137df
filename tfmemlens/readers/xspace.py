"""XSpace of the TF2 profiler (`*.xplane.pb`): BFC's own events, one for each allocation and each free.

Every `MemoryAllocation` names the op, its shape, what was asked for and what the chunk is, and the allocator's total after it; a
`MemoryDeallocation` has the address. So the curve is exact, for eager code and tf.functions alike. Only BFC tells these events: a default
CPU allocator does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.allocation import OUTPUT, TEMPORARY
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import numpy_dtype_of_enum, parse_shape
from tfmemlens.model.timeline import BaselineSource, CurveSource, Timeline
from tfmemlens.readers.columns import Columns
from tfmemlens.readers.inputs import Opened
from tfmemlens.readers.run_metadata import parse_prefix, varint

_PLANES = (b"/host:", b"/device:", b"/job:", b"Task Environment", b"/custom", b"#")
HOW = "set a BFC allocator (a GPU has one; on the CPU TF_CPU_ALLOCATOR_USE_BFC=1) and record with tf.profiler.experimental.start/stop around a few steps"


def sniff_bytes(head: bytes, opened: Opened) -> bool:
    """Whether the first plane has an id or a name that profilers give planes."""
    del opened
    if head[:1] != b"\x0a":
        return False
    _, at = varint(head, 1)
    if head[at : at + 1] == b"\x08":  # the plane's id
        _, at = varint(head, at + 1)
    if head[at : at + 1] != b"\x12":
        return False
    length, at = varint(head, at + 1)
    return 0 < length < 200 and head[at : at + length].startswith(_PLANES)


def read_file(opened: Opened, hints: Hints = Hints()) -> Capture:
    """A timeline for each allocator that tells its events. Raises UnreadableInput."""
    del hints
    space, notes = parse_prefix("XSpace", opened.all(), depth=2)
    if space is None:
        raise UnreadableInput(f"{opened.path} looks like an XSpace, and none of it can be read", "copy the file again, in binary mode")
    found = tuple(timeline for plane in space.planes for timeline in _timelines(plane))
    if not found:
        names = ", ".join(plane.name for plane in space.planes if plane.name) or "no plane"
        notes.append(ReadNote(f"{opened.path}: no memory events (planes: {names}); {HOW}"))
    return Capture(
        Source(opened.path, ("xspace",), "tensorflow", ("2.3", "2.21")), timelines=tuple(sorted(found, key=lambda each: -each.peak_bytes)), notes=tuple(notes)
    )


Event = tuple[float, int, dict[str, Any]]
"""(microseconds, +1 for an allocation or -1 for a free, its facts)."""


def _timelines(plane: Any) -> Iterator[Timeline]:
    kinds = {
        key: 1 if data.name == "MemoryAllocation" else -1
        for key, data in plane.event_metadata.items()
        if data.name in ("MemoryAllocation", "MemoryDeallocation")
    }
    if not kinds:
        return
    names = {key: data.name for key, data in plane.stat_metadata.items()}
    lanes: dict[str, list[Event]] = {}
    for line in plane.lines:
        for event in line.events:
            if kind := kinds.get(event.metadata_id):
                facts = {names.get(stat.metadata_id, ""): _value(stat, names) for stat in event.stats}
                micros = line.timestamp_ns / 1e3 + event.offset_ps / 1e6
                lanes.setdefault(str(facts.get("allocator_name", "")), []).append((micros, kind, facts))
    for allocator, events in lanes.items():
        yield timeline_of(plane.name, allocator, sorted(events, key=lambda event: event[0]))


def _value(stat: Any, names: dict[int, str]) -> Any:
    if stat.HasField("str_value"):
        return stat.str_value
    if stat.HasField("ref_value"):
        return names.get(stat.ref_value, "")
    for field in ("uint64_value", "int64_value", "double_value"):
        if stat.HasField(field):
            return getattr(stat, field)
    return None


def timeline_of(plane: str, allocator: str, events: list[Event]) -> Timeline:
    """The timeline of one allocator's events, which are in order of time."""
    columns, alive = Columns(), dict[Any, int]()
    votes: Counter[int] = Counter()
    running = 0
    limit = None
    for micros, kind, facts in events:
        size = int(facts.get("allocation_bytes") or 0)
        address = facts.get("addr")
        if kind > 0:
            row = columns.add(str(facts.get("tf_op") or "") or None, size, None, micros, _purpose(facts))
            columns.requested_bytes[row] = int(facts.get("requested_bytes") or 0) or None
            columns.dtype[row] = numpy_dtype_of_enum(int(facts.get("data_type") or 0))
            columns.shape[row] = _shape(str(facts.get("shape") or ""))
            alive[address] = row
            running += size
        elif address in alive:
            row = alive.pop(address)
            columns.end_micros[row] = micros
            running -= columns.size_bytes[row]
        else:  # born before the recording: it belongs to the baseline, and leaves it
            row = columns.add(None, size, None, None, "born before the recording")
            columns.start_micros[row], columns.end_micros[row] = events[0][0], micros
            running -= size
        if facts.get("bytes_allocated") is not None:
            votes[int(facts["bytes_allocated"]) - running] += 1
            limit = int(facts["bytes_allocated"]) + int(facts.get("bytes_available") or 0) + int(facts.get("bytes_reserved") or 0) or limit
    before = sum(size for size, purpose in zip(columns.size_bytes, columns.purpose, strict=True) if purpose == "born before the recording")
    device = plane if ":" in allocator or not allocator.startswith("GPU_") else f"/device:GPU:{allocator.split('_')[1]}"
    table = columns.table(device, allocator)
    if not votes:
        return Timeline(device, allocator, table, baseline_source=BaselineSource.UNKNOWN, curve_source=CurveSource.EVENTS)
    baseline, count = votes.most_common(1)[0]
    share = count / sum(votes.values())
    return Timeline(
        device, allocator, table, baseline_bytes=max(baseline - before, 0), baseline_confidence=share, baseline_source=BaselineSource.EVENTS,
        limit_bytes=limit, curve_source=CurveSource.EVENTS,
    )  # fmt: skip


def _purpose(facts: dict[str, Any]) -> str | None:
    region = str(facts.get("region_type") or "")
    return {"temp": TEMPORARY, "output": OUTPUT}.get(region, region or None)


def _shape(text: str) -> tuple[int | None, ...] | None:
    try:
        return parse_shape(text) if text.startswith("[") else None
    except ValueError:
        return None
