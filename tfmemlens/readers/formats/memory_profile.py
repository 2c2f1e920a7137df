"""`*.memory_profile.json.gz`: what the profiler of TensorFlow 2.2 to 2.4 made of the memory events, for
TensorBoard's memory page.

The same facts as in the XSpace beside it, one snapshot an event. Files with many events hold a sample of them
only, and say less exactly.
"""

from __future__ import annotations

from typing import Any

from tfmemlens.errors import NotUnderstood, UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import DATA_TYPES, numpy_dtype
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.formats import xspace
from tfmemlens.readers.gathering import opening
from tfmemlens.readers.gathering.inputs import Opened

HOLDS = Holds.SAMPLES
SUFFIXES = (".memory_profile", ".json")
_START = regex(rb'\A\s*\{\s*"memoryProfilePerAllocator"\s*:')
_WHOLE = regex(r"-?[0-9]{1,19}")
_ENUM = {name: number for number, name in DATA_TYPES.items()}


def sniff(sample: Sample) -> Confidence:
    """A text begins like one."""
    return Confidence.CERTAIN if _START.match(sample.text) else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """A timeline for each allocator. Raises UnreadableInput."""
    import json

    del hints
    try:
        document = json.loads(opening.document(opened))
    except (ValueError, RecursionError) as problem:
        raise _damaged(opened, problem) from None
    try:
        profiles = _object(_object(document).get("memoryProfilePerAllocator"))
        timelines = [_timeline(allocator, _object(profile)) for allocator, profile in profiles.items()]
    except NotUnderstood as problem:
        raise _damaged(opened, problem) from None
    kept = sorted(
        (timeline for timeline in timelines if timeline is not None),
        key=lambda timeline: -timeline.peak_bytes,
    )
    notes = () if kept else (ReadNote(f"{opened.path}: no memory events; {xspace.RECORDING_HINT}"),)
    return Capture(
        Source(opened.path, ("memory-profile",), "tensorflow", ("2.2", "2.4")),
        timelines=tuple(kept),
        notes=notes,
    )


def _damaged(opened: Opened, problem: Exception) -> UnreadableInput:
    return UnreadableInput(
        f"{opened.path} is a damaged memory profile: {problem}",
        "read the *.xplane.pb of the same run instead",
    )


def _object(value: object) -> dict[str, Any]:
    """An object of JSON. Raises NotUnderstood."""
    if not isinstance(value, dict):
        raise NotUnderstood(f"{str(value)[:40]} stands where an object should")
    return value


def _number(value: object) -> int:
    """A whole number, which protobuf's JSON writes as a text. Raises NotUnderstood."""
    if not _WHOLE.fullmatch(str(value)):
        raise NotUnderstood(f"{str(value)[:40]} stands where a number should")
    return int(str(value))


def _timeline(allocator: str, profile: dict[str, Any]) -> Timeline | None:
    snapshots = profile.get("memoryProfileSnapshots", [])
    if not isinstance(snapshots, list):
        raise NotUnderstood("its snapshots are no list")
    events = [_event(_object(snapshot)) for snapshot in snapshots]
    return (
        xspace.timeline_of("/host:CPU", allocator, sorted(events, key=lambda event: event.micros))
        if events
        else None
    )


def _event(snapshot: dict[str, Any]) -> xspace.Event:
    """The snapshot in the words of the XSpace's own event. Raises NotUnderstood."""
    act, state = _object(snapshot.get("activityMetadata")), _object(snapshot.get("aggregationStats"))
    born = act.get("memoryActivity") == "ALLOCATION"
    numbers = {
        "allocation_bytes": act.get("allocationBytes"),
        "requested_bytes": act.get("requestedBytes"),
        "addr": act.get("address"),
        "bytes_allocated": state.get("heapAllocatedBytes"),
        "bytes_available": state.get("freeMemoryBytes"),
        "bytes_reserved": state.get("stackReservedBytes"),
    }
    facts = {
        **{name: None if value is None else _number(value) for name, value in numbers.items()},
        "tf_op": act.get("tfOpName") if born else None,
        "region_type": act.get("regionType"),
        "data_type": _ENUM.get(numpy_dtype(str(act.get("dataType", ""))), 0),
        "shape": act.get("tensorShape"),
    }
    return xspace.event_of(_number(snapshot.get("timeOffsetPs")) / 1e6, born, facts)
