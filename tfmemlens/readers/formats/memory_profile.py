"""`*.memory_profile.json.gz`: what the profiler of TensorFlow 2.2 to 2.4 made of the memory events, for
TensorBoard's memory page.

The same facts as in the XSpace beside it, one snapshot an event. Files with many events hold a sample of them
only, and say less exactly.
"""

from __future__ import annotations

from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.model.tensor import DATA_TYPES, numpy_dtype
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.formats import xspace
from tfmemlens.readers.gathering.inputs import Opened

HOLDS = Holds.SAMPLES
SUFFIXES = (".memory_profile", ".json")
_START = regex(rb'\A\s*\{\s*"memoryProfilePerAllocator"\s*:')
_ENUM = {name: number for number, name in DATA_TYPES.items()}


def sniff(sample: Sample) -> Confidence:
    """A text begins like one."""
    return Confidence.CERTAIN if _START.match(sample.text) else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """A timeline for each allocator. Raises UnreadableInput."""
    import json

    del hints
    try:
        profiles = json.loads(opened.all())["memoryProfilePerAllocator"]
        timelines = [_timeline(allocator, profile) for allocator, profile in profiles.items()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableInput(
            f"{opened.path} is a damaged memory profile: {error}",
            "read the *.xplane.pb of the same run instead",
        ) from None
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


def _timeline(allocator: str, profile: dict[str, Any]) -> Timeline | None:
    events = [_event(snapshot) for snapshot in profile.get("memoryProfileSnapshots", ())]
    return (
        xspace.timeline_of("/host:CPU", allocator, sorted(events, key=lambda event: event.micros))
        if events
        else None
    )


def _event(snapshot: dict[str, Any]) -> xspace.Event:
    """The snapshot in the words of the XSpace's own event."""
    act, state = snapshot["activityMetadata"], snapshot["aggregationStats"]
    born = act["memoryActivity"] == "ALLOCATION"
    facts = {
        "allocation_bytes": act.get("allocationBytes"),
        "requested_bytes": act.get("requestedBytes"),
        "addr": act.get("address"),
        "tf_op": act.get("tfOpName") if born else None,
        "region_type": act.get("regionType"),
        "data_type": _ENUM.get(numpy_dtype(str(act.get("dataType", ""))), 0),
        "shape": act.get("tensorShape"),
        "bytes_allocated": state.get("heapAllocatedBytes"),
        "bytes_available": state.get("freeMemoryBytes"),
        "bytes_reserved": state.get("stackReservedBytes"),
    }
    return xspace.event_of(int(snapshot["timeOffsetPs"]) / 1e6, born, facts)
