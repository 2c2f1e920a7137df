"""From what the readers found in a text to rows of the table of incidents: each incident goes through the one
flow on its own, and its columns are taken from its report.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from tfmemlens import pipeline
from tfmemlens.errors import TfmemlensError
from tfmemlens.fleet import schema, times
from tfmemlens.fleet.signature import signature
from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Moment
from tfmemlens.model.incident import Incident
from tfmemlens.model.report import Report
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.readers.oom import words
from tfmemlens.renderers.json import report as json_report
from tfmemlens.units import Size
from tfmemlens.values import dataclass, replace

Row = dict[str, Any]
_OWN = ("team", "job", "rank", "host")
_HOST = regex(
    r"\A[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d (?P<syslog>[\w.-]+) [\w./-]+(?:\[\d+\])?: "
    r"|pid=\d+, ip=(?P<ray>[\d.]+)\)|\Asrun: error: (?P<slurm>[\w.-]+): task|\A\[pod/(?P<pod>[\w.-]+)/"
)
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text comes from, and what is known of it beside its content."""

    source: str
    labels: Mapping[str, str]
    """The named groups of `--job-pattern`."""
    year: int | None = None
    """What stamps without a year belong to, where the text does not say it either."""
    scan: str | None = None

    def columns(self) -> Row:
        """The columns that every row of this input has, of both tables."""
        own = {name: self.labels.get(name) or None for name in _OWN}
        if own["job"] is None:
            own["job"] = posixpath.dirname(self.source) or None
        others = {name: text for name, text in self.labels.items() if name not in _OWN and text is not None}
        return {"source": self.source, **own, "labels": others or None, "scan": self.scan}


class Places:
    """Where the lines of a text stand in the whole file: nowhere, as in what is binary."""

    def place(self, number: int) -> tuple[int, int] | None:
        """The byte and the line of what the readers call the line with this number."""
        del number
        return None

    def until(self, number: int) -> bytes:
        """The text up to the end of that line, as far back as it matters."""
        del number
        return b""

    def wants(self, incident: Incident) -> bool:
        """Whether an incident is to be a row."""
        del incident
        return True


def explained(
    read: Callable[[], Capture], origin: Origin, places: Places, year: int | None = None
) -> tuple[list[Row], str | None]:
    """A row for each failure of what `read` gives, in the order of the log; and why it could not be read."""
    try:
        capture = read()
        rows = [
            _row(capture, incident, origin, places, year)
            for incident in words.failures(capture)
            if places.wants(incident)
        ]
    except TfmemlensError as refused:
        return [], refused.sentence
    except MemoryError:  # what a file may take is the caller's to say
        raise
    except Exception as defect:  # of ours: one of a million files must not stop the others
        return [], f"a defect of tfmemlens: {type(defect).__name__}: {defect}"
    return sorted(rows, key=lambda row: -1 if row["offset"] is None else row["offset"]), None


def _row(capture: Capture, incident: Incident, origin: Origin, places: Places, year: int | None) -> Row:
    report = pipeline.report(replace(capture, incidents=(incident,), timelines=()))
    moment = next(each for each in report.case.moments if each.request)
    row = schema.empty(schema.INCIDENTS) | origin.columns() | _of_report(report, moment)
    first = incident.first or incident.request.line
    where = places.place(first.number) if first else None
    if where and first:
        text = places.until(first.number)
        row["offset"], row["line"] = where
        row["time"] = times.last(text, year)
        row["host"] = row["host"] or host_of(text[text.rfind(b"\n", 0, -1) + 1 :])
    row["rank"] = row["rank"] or ", ".join(incident.ranks) or None
    return {name: _storable(value) for name, value in row.items()}


def host_of(line: bytes) -> str | None:
    """The machine or pod that a line says it comes from."""
    match = _HOST.search(line[:400].decode("utf-8", "replace"))
    return next((name for name in match.groups() if name), None) if match else None


def _of_report(report: Report, moment: Moment) -> Row:
    """The columns that the flow fills."""
    assert moment.request and moment.incident
    document = json_report.document(report)
    request, books, source = moment.request, moment.balance, report.case.capture.source
    failed, owner = request.failed, request.owner
    finding = report.findings[0] if report.findings else None
    action = report.actions[0].remedy if report.actions else None
    op = owner.op or failed.op
    return {
        "framework": source.framework,
        "version": _version(source.version),
        "device": failed.device,
        "allocator": failed.allocator,
        "limit_bytes": _bytes(books.limit),
        "in_use_bytes": _bytes(books.in_use),
        "free_bytes": _bytes(books.free),
        "largest_free_bytes": _bytes(books.largest_free_chunk),
        "requested_bytes": request.needed_bytes,
        "shape": format_shape(failed.shape) if failed.shape is not None else None,
        "dtype": failed.dtype,
        "node": failed.node,
        "op": op,
        "layer": owner.layer,
        "rule": finding.rule if finding else None,
        "severity": finding.severity.value if finding else None,
        "verdict": report.verdict,
        "action": action.text if action else None,
        "saves_bytes": action.saves_bytes if action else None,
        "kinds": document["kinds"] or None,
        "occurrences": moment.incident.occurrences,
        "signature": signature(
            framework=source.framework,
            kind=failed.kind.value,
            rule=finding.rule if finding else None,
            place=owner.layer or failed.node or op,
            shape=failed.shape,
            limit_bytes=_bytes(books.limit),
        ),
        "report": json.dumps(document, ensure_ascii=False, separators=(",", ":")),
    }


def _version(version: tuple[str, str] | None) -> str | None:
    """`2.4`, or `1.14 to 2.1`."""
    if version is None:
        return None
    return version[0] if version[0] == version[1] else f"{version[0]} to {version[1]}"


def _bytes(size: Size | None) -> int | None:
    return size.bytes if size else None


def _storable(value: Any) -> Any:
    """What a column can hold: no half of a surrogate pair, no figure beyond 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, int) and abs(value) > _LARGEST:
        return None
    return value


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What reading an input, or a range of one, gave."""

    rows: list[Row]
    status: str
    """`read`, `no failure` or `unreadable`."""
    reason: str | None = None
    """Why it is unreadable, or what was left out."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    size_read: int = 0
    """Bytes, after decompression."""
    lines: int = 0
    """Ends of lines in the range: the next range's lines are counted from there."""


def status_of(rows: list[Row], problem: str | None) -> str:
    """The status of an input that gave these rows; what could not be read whole may hide its failure."""
    if rows:
        return schema.READ
    return schema.UNREADABLE if problem else schema.NO_FAILURE
