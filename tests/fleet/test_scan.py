"""Whole scans, on real worker processes: what is found, what is read again, and what faults cost."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.fleet.needed import fleet
from tfmemlens.errors import MissingInput, UnreadableInput, UsageError
from tfmemlens.fleet import engine, ranges, scanning, schema, sources, tasks
from tfmemlens.fleet.scanning import EngineLostError, scan
from tfmemlens.fleet.store import OutputFailed, Store
from tfmemlens.model.scan_summary import ScanSummary

pytestmark = fleet

LOG = SAMPLES / "oom_log" / "1.15-unet-report.txt"
FOUR = SAMPLES / "oom_log" / "1.15-caught-and-again.txt"


class Here:
    """A client that runs a task at once, in this process: what a scan asks of `distributed.Client`."""

    status = "running"

    def __init__(self) -> None:
        self.before: Callable[[Any, Any], None] = lambda task, plan: None
        self.largest = 0
        self.open = 0

    def submit(self, function: Any, task: Any, plan: Any, **options: Any) -> Any:
        self.open += 1
        self.largest = max(self.largest, self.open)
        future = Future(self)
        try:
            self.before(task, plan)
            future.outcome = function(task, plan)
        except Exception as problem:
            future.status, future.problem = "error", problem
        return future

    def nthreads(self) -> dict[str, int]:
        return {"here": 2}

    def run(self, function: Any, **options: Any) -> dict[str, Any]:
        return {"here": function()}

    def cancel(self, futures: Any, force: bool) -> None:
        pass

    def register_plugin(self, plugin: Any) -> None:
        pass


class Future:
    def __init__(self, client: Here) -> None:
        self.client, self.status = client, "finished"
        self.outcome: Any = None
        self.problem: Exception | None = None

    def add_done_callback(self, call: Callable[[Any], None]) -> None:
        call(self)

    def result(self) -> Any:
        return self.outcome

    def exception(self) -> Any:
        return self.problem

    def release(self) -> None:
        self.client.open -= 1


@pytest.fixture(scope="module", autouse=True)
def _readers_end() -> Iterator[None]:
    yield
    tasks.close()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    for job in ("unet", "resnet"):
        (folder / "vision" / job).mkdir(parents=True)
    shutil.copy(LOG, folder / "vision" / "unet" / "0.log")
    (folder / "vision" / "unet" / "1.log.gz").write_bytes(gzip.compress(FOUR.read_bytes()))
    (folder / "vision" / "resnet" / "0.log").write_text("step 1\nstep 2\n")
    (folder / "vision" / "resnet" / "1.log").write_bytes(os.urandom(5000))
    return folder


WHOLE = {
    "vision/unet/0.log": 1,
    "vision/unet/1.log.gz": 4,
    "vision/resnet/0.log": 0,
    "vision/resnet/1.log": 0,
}
PATTERN = r"logs/(?P<team>[^/]+)/(?P<job>[^/]+)/(?P<rank>\d+)"


def found(logs: Path, out: Path) -> dict[str, int]:
    """The inputs that the tables have, with their incidents; each once, and as many as there are rows."""
    store = Store(str(out))
    inputs = store.table("inputs").to_pylist()
    sources = [os.path.relpath(row["source"], logs) for row in inputs]
    assert len(set(sources)) == len(sources)
    rows = Counter(os.path.relpath(row["source"], logs) for row in store.table("incidents").to_pylist())
    counts = {source: row["incidents"] for source, row in zip(sources, inputs, strict=True)}
    assert {source: count for source, count in counts.items() if count} == dict(rows)
    return counts


def test_a_scan_and_another(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told: list[float] = []
    first = scan(str(logs), str(out), Here(), job_pattern=PATTERN, told=lambda each: told.append(each.share))
    assert found(logs, out) == WHOLE
    assert (first.listed, first.files, first.to_read, first.incidents, first.found) == (4, 4, 4, 5, 5)
    assert dict(first.inputs) == {"read": 2, "no failure": 1, "unreadable": 1}
    assert [source for source, _ in first.unreadable] == [str(logs / "vision/resnet/1.log")]
    assert told[0] == 0.0
    assert told[-1] == 1.0 == max(told)
    row = Store(str(out)).table("incidents").to_pylist()[0]
    assert (row["team"], row["job"], row["scan"]) == ("vision", "unet", first.scan)
    assert Store(str(out))._names("_staging") == []

    again = scan(str(logs), str(out), Here(), job_pattern=PATTERN)
    assert (again.unchanged, again.to_read, again.files) == (4, 0, 0)

    (logs / "vision" / "resnet" / "0.log").write_bytes(LOG.read_bytes())
    (logs / "vision" / "resnet" / "2.log").write_bytes(FOUR.read_bytes())
    third = scan(str(logs), str(out), Here(), job_pattern=PATTERN)
    assert (third.unchanged, third.files, third.incidents) == (3, 2, 5)
    assert found(logs, out) == WHOLE | {"vision/resnet/0.log": 1, "vision/resnet/2.log": 4}


def test_what_is_read_again_when_asked(logs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    scan(str(logs), out, Here())
    assert scan(str(logs), out, Here(), rescan="unreadable").files == 1
    assert scan(str(logs), out, Here(), rescan=True).files == 4
    assert found(logs, Path(out)) == WHOLE


def test_what_the_storage_did_not_give_is_tried_again(logs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    scan(str(logs), out, Here())
    store = Store(out)
    known = store.known()
    source = str(logs / "vision" / "unet" / "0.log")
    row = next(row for row in store.table("inputs").to_pylist() if row["source"] == source)
    with store.staging("9", "x") as stage:
        stage.add_input(
            row | {"status": schema.UNREADABLE, "reason": "storage: 503", "incidents": 0, "scan": "9"}
        )
    store.commit("9", ["x"], known, "n")
    assert scan(str(logs), out, Here()).files == 1
    assert found(logs, Path(out)) == WHOLE, "although the clock of the scan before was ahead"


def test_since_leaves_out_what_is_older(logs: Path, tmp_path: Path) -> None:
    os.utime(logs / "vision" / "unet" / "0.log", (0, 0))
    summary = scan(str(logs), str(tmp_path / "out"), Here(), since="7d")
    assert (summary.too_old, summary.files) == (1, 3)


def test_the_number_of_tasks_at_once_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(60):
        (logs / f"{number:02}.log").write_text("step 1\n")
    monkeypatch.setattr(scanning, "COMMIT_SECONDS", -1.0)
    monkeypatch.setattr(scanning, "_MOST_FILES", 2)
    here = Here()
    summary = scan(str(logs), str(tmp_path / "out"), here)
    assert here.largest == 6, "three for each thread"
    assert summary.inputs == {"no failure": 60}
    assert len(Store(str(tmp_path / "out"))._names("inputs")) > 10, "commits follow each other"
    assert len(found(logs, tmp_path / "out")) == 60


def test_groups_are_bounded_in_files_and_bytes() -> None:
    files = [
        sources.Listed(f"{number}", "", size, None, "")
        for number, size in enumerate([5, 5, 90, 200, 1, 1, 1, 1])
    ]
    grouped = [[file.source for file in group] for group in tasks.groups(files, 3, 100, 1)]
    assert grouped == [["0", "1", "2"], ["3"], ["4", "5", "6"], ["7"]]


@pytest.mark.parametrize(
    ("most_files", "sizes"),
    [(400, [25, 18, 14, 10, 8, 8, 8, 8, 1]), (16, [16, 16, 16, 13, 9, 8, 8, 8, 6])],
)
def test_groups_shrink_towards_the_end(most_files: int, sizes: list[int]) -> None:
    """A group is at most one of four parts of what is left: nobody begins a long one when the others end."""
    files = [sources.Listed(f"{number}", "", 1, None, "") for number in range(100)]
    grouped = list(tasks.groups(files, most_files, 1 << 20, 4))
    assert [len(group) for group in grouped] == sizes
    assert [file for group in grouped for file in group] == files


def test_groups_shrink_in_bytes_too() -> None:
    """By their bytes, down to a mebibyte."""
    files = [sources.Listed(f"{number}", "", 1 << 19, None, "") for number in range(32)]
    grouped = [len(group) for group in tasks.groups(files, 400, 3 << 20, 4)]
    assert grouped == [6, 6, 5, 3, 3, 2, 2, 2, 2, 1]


_PART = 1 << 19


@pytest.fixture
def big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log that is cut into ranges, with a failure in each, and many lines between them."""
    logs = tmp_path / "logs"
    logs.mkdir()
    quiet = "".join(f"step {number} loss 0.5\n" for number in range(20_000)).encode()
    (logs / "big.log").write_bytes(b"".join(LOG.read_bytes() + quiet for _ in range(4)))
    (logs / "big.log.gz").write_bytes(gzip.compress(LOG.read_bytes() + quiet))
    monkeypatch.setattr(ranges, "CUT_FROM", 100_000)
    small = [ranges.Range(0, _PART), ranges.Range(_PART, 2 * _PART), ranges.Range(2 * _PART, None)]
    monkeypatch.setattr(ranges, "ranges", lambda size: small)
    return logs


@pytest.mark.whole
def test_a_big_log_in_ranges_is_one_input(big: Path, tmp_path: Path) -> None:
    summary = scan(str(big), str(tmp_path / "cut"), Here())
    assert (summary.files, summary.inputs["read"], summary.incidents) == (2, 2, 5)
    assert found(big, tmp_path / "cut") == {"big.log": 4, "big.log.gz": 1}
    rows = Store(str(tmp_path / "cut")).table("incidents").to_pylist()
    places = sorted((row["offset"], row["line"]) for row in rows if row["source"].endswith(".log"))
    raw = (big / "big.log").read_bytes()
    length, lines = len(raw) // 4, raw.count(b"\n") // 4
    assert places == [(places[0][0] + part * length, places[0][1] + part * lines) for part in range(4)]


class Interrupted(BaseException):
    """As Ctrl-C raises it, and as a killed client ends: whichever comes first."""


@pytest.mark.whole
def test_ranges_that_were_read_are_not_read_again(big: Path, tmp_path: Path) -> None:
    here, read = Here(), []

    def before(task: Any, plan: Any) -> None:
        if len(read) == 2:
            raise Interrupted
        read.append(task)

    here.before = before
    with pytest.raises(Interrupted):
        scan(str(big), str(tmp_path / "out"), here)
    assert [task.range.start for task in read] == [0, _PART]
    read.clear()
    here.before = lambda task, plan: read.append(task)
    scan(str(big), str(tmp_path / "out"), here)
    assert [task.range.start for task in read if task.range] == [2 * _PART]
    assert found(big, tmp_path / "out") == {"big.log": 4, "big.log.gz": 1}
    assert Store(str(tmp_path / "out"))._names("_staging") == []


# ---- faults


def test_an_interrupted_scan_keeps_what_was_finished(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_MOST_FILES", 1)
    here = Here()

    def before(task: Any, plan: Any) -> None:
        if task.name == "group-000003":
            raise Interrupted

    here.before = before
    last: list[ScanSummary] = []
    with pytest.raises(Interrupted):
        scan(str(logs), str(tmp_path / "out"), here, told=last.append)
    kept = found(logs, tmp_path / "out")
    here.before = lambda task, plan: None
    rest = scan(str(logs), str(tmp_path / "out"), here)
    assert rest.saved_inputs + len(kept) == 3
    assert rest.files == 1
    assert found(logs, tmp_path / "out") == WHOLE


def test_a_lost_scheduler_keeps_what_was_finished(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_MOST_FILES", 1)
    here = Here()

    def before(task: Any, plan: Any) -> None:
        if task.name == "group-000002":
            here.status = "closed"
            raise OSError("connection lost")

    here.before = before
    with pytest.raises(EngineLostError, match="cannot be reached"):
        scan(str(logs), str(tmp_path / "out"), here)
    here.before, here.status = lambda task, plan: None, "running"
    summary = scan(str(logs), str(tmp_path / "out"), here)
    assert summary.files + summary.unchanged == 4
    assert found(logs, tmp_path / "out") == WHOLE


def test_a_result_that_the_scheduler_takes_with_it_is_a_lost_scheduler(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(future: Future) -> Any:
        raise CancelledError("scheduler-connection-lost")

    with monkeypatch.context() as lost:
        lost.setattr(Future, "result", cancelled)
        with pytest.raises(EngineLostError, match="cannot be reached"):
            scan(str(logs), str(tmp_path / "out"), Here())
    scan(str(logs), str(tmp_path / "out"), Here())
    assert found(logs, tmp_path / "out") == WHOLE


def test_a_file_that_kills_workers_is_given_up_alone(logs: Path, tmp_path: Path) -> None:
    here, seen = Here(), Counter[str]()
    here.nthreads = lambda: {"here": 0}  # type: ignore[method-assign]

    def before(task: Any, plan: Any) -> None:
        for file in task.files:
            seen[file.source] += 1
            if file.source.endswith("unet/0.log"):
                raise RuntimeError("KilledWorker")

    here.before = before
    summary = scan(str(logs), str(tmp_path / "out"), here)
    assert found(logs, tmp_path / "out") == WHOLE | {"vision/unet/0.log": 0}
    reasons = dict(summary.unreadable)
    assert reasons[str(logs / "vision/unet/0.log")].startswith("no worker survived it: RuntimeError")
    assert summary.repeated_tasks >= 3
    assert summary.files == 4


def test_what_the_scheduler_forgot_is_given_to_it_again(logs: Path, tmp_path: Path) -> None:
    here, forgotten = Here(), []
    submit = here.submit

    def once(function: Any, task: Any, plan: Any, **options: Any) -> Any:
        if task.name not in forgotten:
            forgotten.append(task.name)
            future = Future(here)
            here.open += 1
            future.status = "cancelled"
            return future
        return submit(function, task, plan, **options)

    here.submit = once  # type: ignore[method-assign]
    summary = scan(str(logs), str(tmp_path / "out"), here)
    assert summary.repeated_tasks == len(forgotten)
    assert found(logs, tmp_path / "out") == WHOLE


def test_a_full_disk_ends_a_scan_and_another_one_finishes_it(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_MOST_FILES", 1)
    here, replace = Here(), Path.replace
    left = [2]

    def full(path: Path, target: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(OutputFailed, match="No space left"):
            scan(str(logs), str(tmp_path / "out"), here)
    assert set(found(logs, tmp_path / "out")) <= set(WHOLE)
    scan(str(logs), str(tmp_path / "out"), here)
    assert found(logs, tmp_path / "out") == WHOLE


def test_a_worker_that_writes_elsewhere_is_noticed(logs: Path, tmp_path: Path) -> None:
    here = Here()
    elsewhere = Store(str(tmp_path / "elsewhere"))
    elsewhere.make()

    def submit(function: Any, task: Any, plan: Any, **options: Any) -> Any:
        from tfmemlens.values import replace

        return Here.submit(here, function, task, replace(plan, out=str(tmp_path / "elsewhere")), **options)

    here.submit = submit  # type: ignore[method-assign]
    with pytest.raises(OutputFailed, match="do not write"):
        scan(str(logs), str(tmp_path / "out"), here)


def test_wrong_calls_are_refused_before_anything_is_written(logs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with pytest.raises(MissingInput):
        scan(str(logs / "nothing"), out, Here())
    with pytest.raises(UsageError, match="neither a date"):
        scan(str(logs), out, Here(), since="soon")
    with pytest.raises(UsageError, match="no regular expression"):
        scan(str(logs), out, Here(), job_pattern="(")
    assert not Path(out).exists()


def test_a_worker_with_another_version_is_refused(logs: Path, tmp_path: Path) -> None:
    here = Here()
    here.run = lambda function, **options: {"tcp://a": "0.0.1"}  # type: ignore[method-assign]
    with pytest.raises(UsageError, match=r"tcp://a has not tfmemlens .* but '0.0.1'"):
        scan(str(logs), str(tmp_path / "out"), here)


def test_no_scheduler_at_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(address: str, timeout: float) -> Any:
        raise OSError(f"Timed out trying to connect to {address}")

    import distributed

    monkeypatch.setattr(distributed, "Client", refused)
    with (
        pytest.raises(UnreadableInput, match="no scheduler answers at tcp://here:1"),
        engine.connected(scheduler="tcp://here:1"),
    ):
        pass


def test_the_time_left() -> None:
    summary = ScanSummary("out", to_read=10, bytes_to_read=0, files=5, seconds=7.0)
    assert (summary.share, summary.seconds_left) == (0.5, 7.0)
    assert ScanSummary("out").share == 1.0
    assert ScanSummary("out", to_read=1).seconds_left is None


def test_the_job_pattern_of_the_scan_before_holds(logs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    scan(str(logs / "vision" / "unet"), out, Here(), job_pattern=PATTERN)
    scan(str(logs), out, Here())
    jobs = Store(out).table("inputs", ["team", "job"]).to_pylist()
    assert {(row["team"], row["job"]) for row in jobs} == {("vision", "unet"), ("vision", "resnet")}
    other = "(?P<job>[^/]+)/[^/]+$"
    with pytest.raises(UsageError, match="gives its jobs other names"):
        scan(str(logs), out, Here(), job_pattern=other)
    scan(str(logs), out, Here(), job_pattern=other, rescan=True)
    assert set(Store(out).table("inputs").column("team").to_pylist()) == {None}
    assert Store(out).settings() == {"job_pattern": other}
    scan(str(logs), out, Here(), job_pattern=other)


def test_settings_that_are_damaged_are_none(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for text in ("{", "[]", "\xff"):
        (tmp_path / "_settings.json").write_text(text, encoding="latin-1")
        assert store.settings() == {}
    store.keep({"job_pattern": None})
    assert store.settings() == {"job_pattern": None}


@pytest.mark.parametrize(("source", "out"), [("memory://a", "out"), ("a", "memory://out")])
def test_what_no_worker_can_open_is_refused(source: str, out: str) -> None:
    with pytest.raises(UsageError, match="in this process alone"):
        scan(source, out, Here())
