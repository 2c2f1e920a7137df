"""A scan: list, leave out what is known, let a cluster read the rest, and commit what it finds."""

from __future__ import annotations

import hashlib
import math
import queue
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from datetime import datetime, timezone
from typing import Any

from tfmemlens.errors import TfmemlensError, UsageError
from tfmemlens.fleet import engine, opening, questions, ranges, schema, sources, tasks
from tfmemlens.fleet.questions import When
from tfmemlens.fleet.reader import Limits
from tfmemlens.fleet.reading import STORAGE, Reading, ScanSettings, row_of
from tfmemlens.fleet.sources import Listed, StorageOptions
from tfmemlens.fleet.store import KnownFile, OutputFailed, Store
from tfmemlens.fleet.tasks import ScanPlan, Task, TaskOutcome
from tfmemlens.model.scan_summary import ScanSummary
from tfmemlens.readers.bytes.texts import looks_binary
from tfmemlens.values import dataclass, field

ALL, UNREADABLE = "all", "unreadable"
"""What `rescan` reads again although it is known: everything, or what could not be read."""
COMMIT_SECONDS = 30.0
"""Between two commits: what is read shows so late, and the folder gets so many files."""
_TASKS_A_THREAD = 3
"""So many tasks for each thread are with the scheduler at once."""
_MOST_FILES, _MOST_BYTES = 400, 64 << 20
"""A task of so much takes some seconds."""
_PARTS_A_THREAD = 3
"""A task is at most one of so many parts, for each thread, of what is left."""
_ATTEMPTS = 3
"""So often a file may be with a worker that is lost."""
_LOOK_SECONDS = 0.5


class EngineLostError(TfmemlensError):
    """The scheduler ended, or cannot be reached any more."""

    slug = "engine-lost"


@dataclass
class Scan:
    """One scan on its way."""

    store: Store
    plan: ScanPlan
    client: Any
    known: dict[str, KnownFile]
    summary: ScanSummary
    told: Callable[[ScanSummary], None]
    staged: list[str] = field(default_factory=list)
    commits: int = 0
    began: float = field(default_factory=time.monotonic)
    committed_at: float = field(default_factory=time.monotonic)
    threads: int = 1
    threads_at: float = -math.inf
    running: dict[Any, Task] = field(default_factory=dict)
    ended: Any = field(default_factory=queue.SimpleQueue)
    again: deque[Task] = field(default_factory=deque)
    attempts: dict[str, int] = field(default_factory=dict)
    open_ranges: dict[str, list[str]] = field(default_factory=dict)
    """Of a big log by its name, the ranges that wait for the others."""
    all_ranges: dict[str, list[str]] = field(default_factory=dict)

    def run(self, waiting: Iterator[Task]) -> None:
        """Give tasks to the cluster, a bounded number at once, and commit what they stage."""
        try:
            while True:
                try:
                    self._submit(waiting)
                    if not self.running:
                        break
                    self._take()
                except (OSError, CancelledError) as problem:  # Dask's, where a connection ends
                    raise _lost_engine() from problem
                if self.staged and time.monotonic() - self.committed_at > COMMIT_SECONDS:
                    self.commit()
            self.commit()
        except BaseException:
            self._stop()
            raise
        self.store.sweep(self.plan.settings.scan)

    def _submit(self, waiting: Iterator[Task]) -> None:
        now = time.monotonic()
        if now - self.threads_at > _LOOK_SECONDS:  # it asks the scheduler, and waits for the answer
            self.threads, self.threads_at = engine.threads(self.client), now
        room = _TASKS_A_THREAD * self.threads - len(self.running)
        for _ in range(max(room, 0)):
            task = self.again.popleft() if self.again else next(waiting, None)
            if task is None:
                return
            key = f"tfmemlens-{self.plan.settings.scan}-{task.name}-{self.attempts.get(task.name, 0)}"
            future = self.client.submit(tasks.run, task, self.plan, key=key, pure=False)
            self.running[future] = task
            future.add_done_callback(self.ended.put)

    def _take(self) -> None:
        """Wait for a task, a while, and see what came of it."""
        self.summary.seconds = time.monotonic() - self.began
        try:
            future = self.ended.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            future = None
        if self.client.status in ("closing", "closed"):
            raise _lost_engine()
        task = self.running.pop(future, None)
        if future is not None and task is not None:
            if future.status == "finished":
                self._finished(task, future.result())
            else:
                self._lost(task, future)
            future.release()
        self.told(self.summary)

    def _finished(self, task: Task, outcome: TaskOutcome) -> None:
        if outcome.output_problem:
            raise OutputFailed(
                outcome.output_problem, "make room, then run the same again: what is committed stays"
            )
        summary = self.summary
        if self.store.is_local and not summary.files and not self._can_be_seen(task):
            raise OutputFailed(
                f"the workers do not write to the {self.store.root} of this machine",
                "name a folder that all machines share, or a URL such as s3://bucket/failures",
            )
        summary.retries += outcome.retries
        summary.found += outcome.incidents
        summary.bytes += task.bytes
        if task.range is None:
            summary.files += len(task.files)
            self.staged.append(task.name)
            return
        source = task.files[0].source
        self.open_ranges[source].remove(task.name)
        self.join(source)

    def join(self, source: str) -> None:
        """Make one input of the ranges of a big log, when they are all there."""
        if not self.open_ranges[source]:
            name = f"joined-{self.all_ranges[source][0]}"
            self.store.join_ranges(self.all_ranges[source], self.plan.settings.scan, name)
            self.staged.append(name)
            self.summary.files += 1

    def _can_be_seen(self, task: Task) -> bool:
        return task.range is not None or self.store.has_staged(self.plan.settings.scan, task.name)

    def _lost(self, task: Task, future: Any) -> None:
        """A worker died with a task, more than once, or the scheduler forgot it: the files of a group are
        tried one by one, and the one that is to blame is given up.
        """
        problem = "the scheduler forgot it" if future.status == "cancelled" else f"{future.exception()!r}"
        self.summary.repeated_tasks += 1
        if len(task.files) > 1 and future.status != "cancelled":
            for number, file in enumerate(task.files):
                self.again.append(Task(f"{task.name}-{number}", (file,)))
            return
        self.attempts[task.name] = self.attempts.get(task.name, 0) + 1
        if future.status == "cancelled" or self.attempts[task.name] < _ATTEMPTS:
            self.again.append(task)
            return
        reading = Reading(task.files[0], self.plan.settings, task.range)
        reason = f"no worker survived it: {problem}"[:300]
        where = (
            self.store.staging_range(task.name)
            if task.range
            else self.store.staging(self.plan.settings.scan, task.name)
        )
        with where as stage:
            stage.add_input(row_of(reading, reading.listed.source, schema.UNREADABLE, reason))
        self._finished(task, TaskOutcome(inputs=1, unreadable=1))

    def commit(self) -> None:
        """Make what is staged part of the tables."""
        scan = self.plan.settings.scan
        if self.staged:
            done = self.store.commit(scan, self.staged, self.known, f"{scan}-{self.commits:04d}")
            self.commits += 1
            self.staged = []
            counts = dict(done.counts)
            self.summary.incidents += counts.pop("incidents", 0)
            self.summary.inputs.update(counts)
            self.summary.ended.update(done.ended)
            self.summary.unreadable = (self.summary.unreadable + done.unreadable)[:_EXAMPLES]
        self.committed_at = time.monotonic()

    def _stop(self) -> None:
        """Let go of what runs, and commit what is finished."""
        if self.client.status == "running":
            with suppress(OSError):
                self.client.cancel(list(self.running), force=True)
        self.running.clear()
        try:
            self.store.finish()
            scan = self.plan.settings.scan
            self.staged = [name for name in self.staged if self.store.has_staged(scan, name)]
            self.commits += 1
            self.commit()
        except OutputFailed:  # the next scan commits it
            pass


_EXAMPLES = 5


def _lost_engine() -> EngineLostError:
    return EngineLostError(
        "the scheduler cannot be reached any more",
        "what was finished is kept: run the same again, and the rest is read",
    )


def scan(
    source: str | Iterable[str],
    out: str,
    client: Any = None,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    job_pattern: str | None = None,
    since: When | None = None,
    rescan: str | bool = False,
    limits: Limits = Limits(),
    limit_read: int = 4 << 30,
    storage_options: StorageOptions | None = None,
    out_options: StorageOptions | None = None,
    told: Callable[[ScanSummary], None] | None = None,
    connected: Callable[[Any], None] | None = None,
) -> ScanSummary:
    """Read the failures of many logs into the folder `out`: what is new or has changed since a scan before.

    `source` is a path, a URL or a glob, or several; `client` a `distributed.Client`, else one of the
    scheduler at an address, the configured one, or a cluster of this machine with as many `workers`.
    `job_pattern` is that of the scan before unless given. `since`
    leaves out what was changed before (a date, or `7d`), `rescan` reads known files again: "all" (or True) or
    "unreadable". `storage_options` are fsspec's for the sources, `out_options` for `out`. `told` is called
    with the summary as it grows, `connected` with the client.

    Raises UnreadableInput where there is nothing to read, UsageError, OutputFailed, EngineLostError and
    MissingExtra; what was finished is committed then, and the next scan goes on from there.
    """
    places = [source] if isinstance(source, str) else [str(each) for each in source]
    for place in (*places, out):
        if place.startswith("memory:"):
            raise UsageError(
                f"{place} is in this process alone: workers are others", "name a folder or a URL"
            )
    options = dict(storage_options or {})
    sources.job_columns(job_pattern)
    oldest = (
        None if since is None else questions.moment(since, datetime.now(timezone.utc).replace(tzinfo=None))
    )
    store = Store(out, out_options or {})
    summary = ScanSummary(out)
    with ExitStack() as stack:
        place = sources.name_of(out, store.fs, store.root)
        listing = sources.find(places, options, without=place)
        store.make()
        stack.enter_context(store.locked())
        started = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}-{secrets.token_hex(2)}"
        known, saved = store.recover(started)
        job_pattern = _pattern(store, job_pattern, bool(known) and rescan not in (ALL, True))
        newest = max((each.scan for each in known.values()), default="")
        settings = ScanSettings(
            started if started > newest else f"{newest}+", job_pattern, limit_read, options
        )
        summary.scan = settings.scan
        summary.problems = listing.problems
        summary.listed = len(listing.inputs)
        summary.saved_incidents = saved.counts.pop("incidents", 0)
        summary.saved_inputs = sum(saved.counts.values())
        chosen = list(
            _chosen(listing.inputs, known, summary, oldest, ALL if rescan is True else rescan or "")
        )
        summary.to_read = len(chosen)
        summary.bytes_to_read = sum(file.size or 0 for file in chosen)
        tell = told or _nobody
        tell(summary)
        if not chosen:
            store.sweep(settings.scan)
            return summary
        client = stack.enter_context(engine.connected(client, scheduler, workers))
        (connected or _nobody)(client)
        summary.workers = len(client.nthreads())
        plan = ScanPlan(place, settings, limits, dict(out_options or {}))
        running = Scan(store, plan, client, known, summary, tell)
        try:
            running.run(_tasks(running, chosen))
        finally:
            summary.seconds = time.monotonic() - running.began
            tell(summary)
    return summary


def _pattern(store: Store, asked: str | None, has_others: bool) -> str | None:
    """The job pattern of a scan: that of the scan before where none is asked for. Raises UsageError for
    another one: rows with names of both would be in one table.
    """
    before = store.settings().get("job_pattern")
    if before and asked and asked != before and has_others:
        raise UsageError(
            f"{store.url} was scanned with --job-pattern {before!r}: another gives its jobs other names",
            "leave --job-pattern out to go on with that one, or add --rescan to read all again with the new",
        )
    store.keep({"job_pattern": asked or before})
    return asked or before


def _nobody(news: Any) -> None:
    del news


def _chosen(
    files: Iterable[Listed],
    known: dict[str, KnownFile],
    summary: ScanSummary,
    oldest: datetime | None,
    rescan: str,
) -> Iterator[Listed]:
    """The files to read; the others are counted."""
    for file in files:
        before = known.get(file.source)
        if oldest and file.mtime and file.mtime < oldest:
            summary.too_old += 1
        elif before and _is_settled(file, before, rescan):
            summary.unchanged += 1
        else:
            yield file


def _is_settled(file: Listed, before: KnownFile, rescan: str) -> bool:
    """Whether what is known of a file need not be asked again."""
    if rescan == ALL or (rescan == UNREADABLE and before.status == schema.UNREADABLE):
        return False
    return STORAGE not in before.reason and file.is_as(before.size, before.mtime, before.etag)


def _tasks(scan: Scan, files: list[Listed]) -> Iterator[Task]:
    """The tasks of a scan: big logs range by range first, then small files in groups."""
    threads = engine.threads(scan.client)
    big = [file for file in files if (file.size or 0) >= ranges.CUT_FROM and not file.is_bundle]
    cut = {file.source: parts for file in big if len(parts := _ranges(file, scan.plan.settings)) > 1}
    staged = scan.store.staged_ranges() if cut else set()
    for file in big:
        parts = cut.get(file.source, [])
        names = [_range_name(file, part, scan.plan.settings) for part in parts]
        if not parts:
            continue
        scan.all_ranges[file.source] = names
        scan.open_ranges[file.source] = [name for name in names if name not in staged]
        scan.join(file.source)
        for name, part in zip(names, parts, strict=True):
            if name not in staged:
                yield Task(name, (file,), part)
    rest = [file for file in files if file.source not in cut]
    for number, group in enumerate(tasks.groups(rest, _MOST_FILES, _MOST_BYTES, _PARTS_A_THREAD * threads)):
        yield Task(f"group-{number:06d}", group)


def _ranges(file: Listed, settings: ScanSettings) -> list[ranges.Range]:
    """The ranges of a big log; none of what is no plain text, and of what cannot be looked at now."""
    try:
        with opening.stored(file, settings.storage) as stream:
            head = stream.peek(1 << 16)
            if opening.is_packed(head) or looks_binary(head) or not stream.seekable():
                return []
    except (opening.StorageError, opening.GoneError, opening.RefusedError):
        return []
    return ranges.ranges(file.size or 0)


def _range_name(file: Listed, part: ranges.Range, settings: ScanSettings) -> str:
    """The same for the same bytes, read in the same way: so a range that was read once is not read again."""
    identity = (file.source, file.size, file.mtime, file.etag, part, settings.job_pattern)
    version = (schema.VERSION, tasks.version(), "" if file.mtime or file.etag else settings.scan)
    return hashlib.sha1(repr((identity, version)).encode("utf-8", "replace")).hexdigest()
