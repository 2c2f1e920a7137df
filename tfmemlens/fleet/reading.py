"""What inputs say, read in a process of its own, which can be killed: `serve` is all that it runs.

It gets lists of `Reading`s on its standard input and answers with messages on its standard output, all of
them pickled; what it has to tell it tells at least ten times a second. It ends with its parent, and when
nothing was asked for a while.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from tfmemlens import pipeline
from tfmemlens.errors import TfmemlensError
from tfmemlens.fleet import opening, ranges, rows, schema, times
from tfmemlens.fleet.flow import Origin, Places, ReadResult, explained, status_of
from tfmemlens.fleet.sources import LOG, OWN_COLUMNS, Listed, job_columns
from tfmemlens.model.capture import Capture
from tfmemlens.values import dataclass, field, replace

IDLE_SECONDS = 60
"""After so long without a question the process ends."""
_TELL_SECONDS = 0.1
"""So long may a message wait for others: each that goes alone makes two processes take turns."""
MEMORY_VARIABLE = "TFMEMLENS_FLEET_MEMORY"
"""How many bytes the process may get beyond what it starts with."""
TOO_MUCH_MEMORY = "it needs more memory than a file may take (--memory-limit)"
STORAGE = "storage: "
"""How the reason of an input begins that the storage did not give: the next scan tries it again."""
_END_BYTES = 1 << 20
CHANGED = "it changed while it was scanned: the next scan reads it again"
Row = dict[str, Any]


@dataclass(frozen=True)
class ScanSettings:
    """What holds for all inputs of a scan."""

    scan: str
    job_pattern: str | None = None
    limit_bytes: int = 4 << 30
    """Bytes of an archive's or a compressed file's content that are read."""
    storage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """One input to read, or a range of it; of an archive, without its first members."""

    listed: Listed
    settings: ScanSettings
    range: ranges.Range | None = None
    skip: int = 0


@dataclass(frozen=True)
class Began:
    """An input is being read: a file, or the next member of an archive."""

    source: str


@dataclass(frozen=True)
class Done:
    """An input has been read: its rows in the two tables."""

    row: Row
    incidents: list[Row]
    lines: int = 0
    """Of a range, the ends of lines in it."""


@dataclass(frozen=True)
class End:
    """There is nothing more in it; or the storage failed, which may go better next time, or for good."""

    problem: str = ""
    is_final: bool = False


def read(reading: Reading) -> Iterator[Began | Done]:
    """The inputs that a file holds, one after the other. Raises StorageError, GoneError,
    RefusedError.
    """
    listed, settings = reading.listed, reading.settings
    if listed.is_bundle or reading.range is not None:
        yield Began(listed.source)
        read_whole = _of_bundle if listed.is_bundle else _of_range
        yield _done(reading, listed.source, lambda origin: read_whole(reading, origin))
        return
    number = 0
    for number, entry in enumerate(opening.entries(listed, settings.storage, settings.limit_bytes), 1):
        if number > reading.skip:
            yield Began(entry.source)
            yield _done(reading, entry.source, partial(_of_entry, reading, entry), entry.size)
    if not number:
        yield Done(row_of(reading, listed.source, schema.NO_FAILURE, "an archive without files"), [])


def row_of(reading: Reading, source: str, status: str, reason: str | None = None) -> Row:
    """The row of an input of which nothing was read."""
    listed = reading.listed
    etag = listed.etag or None if source == listed.source else listed.mark
    return (
        schema.empty(schema.INPUTS)
        | job_columns(reading.settings.job_pattern)(source)
        | {"source": source, "size": listed.size, "mtime": listed.mtime, "etag": etag}
        | {"status": status, "reason": reason, "incidents": 0, "scan": reading.settings.scan}
    )


def _done(
    reading: Reading, source: str, ask: Callable[[Origin], ReadResult], size: int | None = None
) -> Done:
    """The rows of one input, and how long it took."""
    began = time.monotonic()
    listed, settings = reading.listed, reading.settings
    jobs = job_columns(settings.job_pattern)(source)
    labels = {name: jobs[name] for name in OWN_COLUMNS if jobs[name]} | (jobs["labels"] or {})
    try:
        result = ask(Origin(source, labels, listed.mtime.year if listed.mtime else None, settings.scan))
    except TfmemlensError as problem:
        result = ReadResult([], schema.UNREADABLE, str(problem).replace("\n", ";"))
    row = row_of(reading, source, result.status, result.reason) | {
        "incidents": len(result.rows),
        "first_time": result.first_time,
        "last_time": result.last_time,
        "bytes_read": result.size_read,
        "seconds": time.monotonic() - began,
    }
    if source != listed.source:
        row["size"] = size
    return Done(row, result.rows, result.lines)


def _of_entry(reading: Reading, entry: opening.Entry, origin: Origin) -> ReadResult:
    result = rows.read_bytes(
        entry.stream, source=origin.source, labels=origin.labels, year=origin.year, scan=origin.scan
    )
    problems = [entry.damage(), result.reason or ""]
    if entry.source == reading.listed.source and not opening.is_now(reading.listed, reading.settings.storage):
        problems.append(CHANGED)
    reason = "; ".join(filter(None, problems)) or None
    damaged = problems[0] and not result.rows
    return replace(result, reason=reason, status=schema.UNREADABLE if damaged else result.status)


def _of_range(reading: Reading, origin: Origin) -> ReadResult:
    assert reading.range is not None
    with opening.stored(reading.listed, reading.settings.storage) as stream:
        return ranges.read_range(
            stream,
            reading.range,
            source=origin.source,
            labels=origin.labels,
            year=origin.year,
            scan=origin.scan,
        )


def _of_bundle(reading: Reading, origin: Origin) -> ReadResult:
    """What `tfmemlens run` kept of a run is one input, as it is for `explain`."""
    with tempfile.TemporaryDirectory() as copy:
        folder = opening.fetched(reading.listed, reading.settings.storage, f"{copy}/bundle")

        def capture() -> Capture:
            read = pipeline.capture([folder])
            return replace(read, source=replace(read.source, path=origin.source))

        incidents, problem = explained(capture, origin, Places())
        first, last = _times(Path(folder, LOG), origin.year)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return ReadResult(incidents, status_of(incidents, problem), problem, first, last, size)


def _times(log: Path, year: int | None) -> tuple[datetime | None, datetime | None]:
    """The first and the last time stamp of a log, by its ends."""
    with log.open("rb") as file:
        head = file.read(_END_BYTES)
        file.seek(max(log.stat().st_size - _END_BYTES, 0))
        return times.first(head, year), times.last(file.read(), year)


def serve() -> None:
    """Answer questions until there are no more."""
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", 1 << 16)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who prints disturbs nothing
    limit_memory(int(os.environ.get(MEMORY_VARIABLE, "0")))
    asked = [time.monotonic()]
    threading.Thread(target=_watch, args=(asked, os.getppid(), answers), daemon=True).start()
    while True:
        asked[0] = time.monotonic()
        try:
            readings = pickle.load(questions)
        except EOFError:
            return
        asked[0] = float("inf")
        for reading in readings:
            for message in answered(reading):
                pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def answered(reading: Reading) -> Iterator[Began | Done | End]:
    """The messages on a file, of which the last is the end."""
    source = reading.listed.source
    try:
        for message in read(reading):
            source = message.source if isinstance(message, Began) else source
            yield message
    except opening.StorageError as problem:
        yield End(f"{problem}")
    except opening.RefusedError as problem:
        yield End(f"{STORAGE}{problem} where this worker runs", is_final=True)
    except opening.GoneError as problem:
        yield End(f"{problem}", is_final=True)
    except MemoryError:
        yield End(TOO_MUCH_MEMORY, is_final=True)
    else:
        yield End()


def limit_memory(count: int) -> None:
    """Let this process get so many bytes beyond what it has, where the system can see to that: a file that
    needs more ends in a MemoryError.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    if not count or not sys.platform.startswith("linux"):
        return
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        sizes = [line.split()[1] for line in status if line.startswith("VmData:")]
    most = (int(sizes[0]) << 10 if sizes else 0) + count
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _watch(asked: list[float], parent: int, answers: BinaryIO) -> None:
    """Send what waits; end this process when its parent has ended, or when it is idle."""
    while os.getppid() == parent and time.monotonic() - asked[0] < IDLE_SECONDS:
        time.sleep(_TELL_SECONDS)
        try:
            answers.flush()
        except (OSError, ValueError):  # nobody reads it any more
            break
    os._exit(0)
