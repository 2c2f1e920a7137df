"""`run.json`, which `tfmemlens run` writes: how a program ended, and what the kernel said of its memory.

A program that the kernel killed cannot say so itself. SIGKILL is taken for a lack of memory where the
kernel's count of such kills grew, and for a likely one where that count cannot be read; where it can be read
and did not grow, somebody else sent the signal, and that is no failure for memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source, Surroundings
from tfmemlens.model.incident import Incident, RequestKind
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering import opening
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.readers.oom.disguises import IndirectFailure
from tfmemlens.readers.oom.incidents import incident
from tfmemlens.readers.oom.same_failure import IncidentDraft
from tfmemlens.units import IMPOSSIBLE, Size, human

HOLDS = Holds.SURROUNDINGS
KEY = "tfmemlens_run"
"""The key that marks such a file; its value is the version of the format."""
KILLED = "the kernel's out-of-memory killer killed"
"""How the sentence on the program's end begins, or ends, where the kernel says so."""
COMPANIONS = ("report.html",)


def sniff(sample: Sample) -> Confidence:
    """A JSON object that begins with our key."""
    head = sample.text[:200].lstrip()
    begins = head.startswith(b"{") and head[1:].lstrip().startswith(f'"{KEY}"'.encode())
    return Confidence.CERTAIN if begins else Confidence.NO


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """How the program ended; a failure only where the kernel killed it. Raises UnreadableInput."""
    del hints
    import json

    try:
        record = json.loads(opening.document(opened))
    except ValueError:
        raise UnreadableInput(
            f"{opened.path} is damaged: it is cut", "read the log beside it: `tfmemlens explain log.txt`"
        ) from None
    numbered, _ = texts.text_lines(opened)
    lines = [Line(number, text.strip(), opened.label) for number, text in numbered]
    killed = tuple(_killed(record, lines))
    return Capture(
        Source(opened.path, ("run-record",) if killed else ()),
        incidents=killed,
        surroundings=Surroundings(address_space=_space(record)),
        notes=tuple(ReadNote(text) for text in _facts(record)),
    )


def _killed(record: dict[str, Any], lines: list[Line]) -> Iterator[Incident]:
    ending, group = str(record.get("ending", "")), record.get("memory_group") or {}
    line = next((line for line in lines if line.text.startswith('"ending":')), None)
    if line is None or not (KILLED in ending or ending == "killed by SIGKILL"):
        return
    peak, limit = int(record.get("peak_rss_bytes") or 0), int(group.get("limit_bytes") or 0)
    itself = record.get("exit_status") == 137 and peak and (not limit or peak <= limit)
    yield incident(
        IncidentDraft(
            disguises=[
                IndirectFailure(
                    line,
                    kind=RequestKind.HOST,
                    what="killed",
                    held=Size.exactly(peak) if itself else None,
                    limit=Size.exactly(limit) if itself and limit else None,
                )
            ]
        )
    )


def _space(record: dict[str, Any]) -> int | None:
    told = record.get("address_space_bytes")
    return told if isinstance(told, int) and 0 < told < IMPOSSIBLE else None


def _facts(record: dict[str, Any]) -> Iterator[str]:
    """How it ended, in sentences."""
    peak = record.get("peak_rss_bytes")
    largest = f"; its largest process held {human(peak)} of host RAM" if peak else ""
    after = f", after {record['seconds']} s" if "seconds" in record else ""
    yield f"the run: {record.get('ending')}{after}{largest}"
    limit = (record.get("memory_group") or {}).get("limit_bytes")
    if limit:
        yield f"the kernel limits its memory group to {human(limit)}"
    space = _space(record)
    if space:
        yield (
            f"`ulimit -v` limits the address space of each of its processes to {human(space)}: an allocation"
            " beyond that fails, however much RAM is free"
        )
    left_out = record.get("output_bytes_left_out")
    if left_out:
        yield f"{left_out:,} bytes in the middle of the output were not kept"
