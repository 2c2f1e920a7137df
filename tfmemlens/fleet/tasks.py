"""What a worker does: read a group of files, stage their rows, and tell the client how it went."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfmemlens.fleet import schema
from tfmemlens.fleet.extras import load
from tfmemlens.fleet.ranges import Range
from tfmemlens.fleet.reader import Limits, Reader, inputs
from tfmemlens.fleet.reading import Reading, ScanSettings
from tfmemlens.fleet.sources import Listed
from tfmemlens.fleet.store import OutputFailed, Store
from tfmemlens.values import dataclass, field

_LEAST_FILES, _LEAST_BYTES = 8, 1 << 20
"""Less of both is no reason for a task of its own."""
_idle: list[Reader] = []
_lock = threading.Lock()


@dataclass(frozen=True)
class Task:
    """Some files that are read together, or a range of one."""

    name: str
    files: Sequence[Listed]
    range: Range | None = None

    @property
    def bytes(self) -> int:
        """About how much there is to read."""
        if self.range is not None and self.range.end is not None:
            return self.range.end - self.range.start
        start = self.range.start if self.range else 0
        return sum(file.size or 0 for file in self.files) - start


@dataclass(frozen=True)
class ScanPlan:
    """What every task of a scan has to know."""

    out: str
    settings: ScanSettings
    limits: Limits
    out_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskOutcome:
    """How a task went; its rows are staged."""

    inputs: int = 0
    incidents: int = 0
    unreadable: int = 0
    retries: int = 0
    seconds: float = 0.0
    output_problem: str = ""
    """Why its rows could not be staged."""


def run(task: Task, plan: ScanPlan) -> TaskOutcome:
    """Read the files of a task. Nothing in them makes it fail."""
    began = time.monotonic()
    store = Store(plan.out, plan.out_options)
    count = incidents = unreadable = retries = 0
    staging = store.staging_range(task.name) if task.range else store.staging(plan.settings.scan, task.name)
    try:
        with staging as stage, _reader(plan.limits.memory_bytes) as reader:
            readings = [Reading(file, plan.settings, task.range) for file in task.files]
            for done, attempts in inputs(reader, readings, plan.limits):
                stage.add_incidents(done.incidents)
                stage.add_input(done.row)
                stage.lines += done.lines
                count += 1
                incidents += len(done.incidents)
                unreadable += done.row["status"] == schema.UNREADABLE
                retries += attempts
    except OutputFailed as problem:
        return TaskOutcome(output_problem=f"{problem.sentence}")
    return TaskOutcome(count, incidents, unreadable, retries, time.monotonic() - began)


@contextmanager
def _reader(memory_bytes: int) -> Iterator[Reader]:
    """A process that nobody else asks; it stays for the next task of this worker."""
    with _lock:
        reader = _idle.pop() if _idle else Reader(memory_bytes)
    reader.limit(memory_bytes)
    try:
        yield reader
    except BaseException:
        reader.stop()
        raise
    with _lock:
        _idle.append(reader)


def close() -> None:
    """End the processes of this worker that wait for questions."""
    with _lock:
        while _idle:
            _idle.pop().stop()


def groups(files: Sequence[Listed], most_files: int, most_bytes: int, parts: int) -> Iterator[list[Listed]]:
    """Files in groups that take some seconds each, in their order. None is more than one of so many `parts`
    of what is left, so that the last ones are small, and all who read them end at about one time.
    """
    left_files, left_bytes = len(files), sum(file.size or 0 for file in files)
    group: list[Listed] = []
    size = 0
    for file in files:
        if group and (
            len(group) >= min(most_files, max(left_files // parts, _LEAST_FILES))
            or size + (file.size or 0) > min(most_bytes, max(left_bytes // parts, _LEAST_BYTES))
        ):
            yield group
            left_files, left_bytes = left_files - len(group), left_bytes - size
            group, size = [], 0
        group.append(file)
        size += file.size or 0
    if group:
        yield group


def version() -> str:
    """The version of this package, as a worker has it."""
    return str(load("tfmemlens").__version__)


def ready() -> str:
    """The version of this package where this runs. Raises MissingExtra where tasks could not run there."""
    for needed in ("fsspec", "psutil", "pyarrow.ipc"):
        load(needed)
    return version()
