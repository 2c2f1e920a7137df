"""`recorder.json` of a bundle: which versions ran, how many steps, and what could not be recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.readers.bytes import own_json
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened

HOLDS = Holds.SURROUNDINGS
KEY = "tfmemlens_recorder"
BESIDE_STEPS = ("recorder.json",)
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
        notes=tuple(ReadNote(text) for text in _facts(document)),
    )


def _facts(document: dict[str, Any]) -> Iterator[str]:
    steps = document.get("steps")
    counts = [each for each in steps.values() if isinstance(each, int)] if isinstance(steps, dict) else []
    traced = own_json.number(document, "traced_steps")
    if counts and traced:
        yield f"the program recorded {traced} of its {sum(counts)} steps"
    problems = document.get("problems")
    for problem in problems if isinstance(problems, list) else ():
        yield f"not recorded: {str(problem)[:300]}"
