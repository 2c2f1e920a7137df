"""`recorder.json` of a bundle: which versions ran, how many steps, and what could not be recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.model.capture import Capture, DeviceInfo, Hints, Holds, Source, Surroundings
from tfmemlens.model.incident import Incident
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.readers.bytes import own_json
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.units import IMPOSSIBLE, Size
from tfmemlens.values import replace

HOLDS = Holds.SURROUNDINGS
KEY = "tfmemlens_recorder"
BESIDE_STEPS = ("recorder.json",)
_STATES = "bytes_limit"
_MOST_NAME = 80
_FRAMEWORKS = ("tensorflow", "jax")


def sniff(sample: Sample) -> Confidence:
    """A JSON object that begins with our key."""
    return own_json.sniff(sample, KEY)


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The framework with its version, and notes. Raises UnreadableInput."""
    del hints
    document = own_json.read(opened)
    told = document.get("versions")
    versions = told if isinstance(told, dict) else {}
    framework = next((name for name in _FRAMEWORKS if isinstance(versions.get(name), str)), None)
    version = ".".join(versions[framework].split(".")[:2]) if framework else None
    return Capture(
        Source(opened.path, (), framework, (version, version) if version else None),
        surroundings=Surroundings(devices=tuple(_devices(document, opened.label))),
        notes=tuple(ReadNote(text) for text in _facts(document)),
    )


def join(captures: list[Capture]) -> list[Capture]:
    """What a recorder says of its devices tells the limit of a failure on one of them that names none: JAX's
    allocator on a GPU prints no statistics (read in jax 0.11).
    """
    limits = {
        device.limit.bytes: device.limit
        for capture in captures
        for device in capture.surroundings.devices
        if device.limit and device.line and device.line.text.startswith(_STATES)
    }
    if len(limits) != 1:
        return captures
    (limit,) = limits.values()
    return [
        replace(capture, incidents=tuple(_within(each, limit) for each in capture.incidents))
        for capture in captures
    ]


def _within(incident: Incident, limit: Size) -> Incident:
    of_a_gpu = (incident.request.allocator or "").startswith("GPU_")
    if not of_a_gpu or incident.state.limit is not None:
        return incident
    return replace(incident, state=replace(incident.state, limit=limit))


def _devices(document: dict[str, Any], label: str) -> Iterator[DeviceInfo]:
    for number, row in enumerate(own_json.rows(document, "devices"), 1):
        limit = own_json.number(row, "bytes_limit")
        if limit and limit < IMPOSSIBLE:
            line = Line(number, f"{_STATES} {limit}", label)
            yield DeviceInfo(str(row.get("name", ""))[:_MOST_NAME], limit=Size.exactly(limit), line=line)


def _facts(document: dict[str, Any]) -> Iterator[str]:
    steps = document.get("steps")
    counts = [each for each in steps.values() if isinstance(each, int)] if isinstance(steps, dict) else []
    traced = own_json.number(document, "traced_steps")
    if counts and traced:
        yield f"the program recorded {traced} of its {sum(counts)} steps"
    problems = document.get("problems")
    for problem in problems if isinstance(problems, list) else ():
        yield f"not recorded: {str(problem)[:300]}"
