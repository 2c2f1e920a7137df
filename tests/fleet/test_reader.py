"""The process that reads inputs: what it answers, and what becomes of files that hang, grow, kill or fail."""

from __future__ import annotations

import gzip
import io
import os
import signal
import tarfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.fleet.needed import fleet
from tfmemlens.fleet import opening, reading, sources
from tfmemlens.fleet.reader import GaveUpError, KilledError, Limits, Reader, inputs
from tfmemlens.fleet.reading import Began, Done, End, Reading, ScanSettings
from tfmemlens.fleet.sources import Listed

pytestmark = fleet

LOG = SAMPLES / "oom_log" / "1.15-unet-report.txt"
TWICE = SAMPLES / "oom_log" / "1.15-caught-and-again.txt"
SETTINGS = ScanSettings("2026-1", job_pattern=r"(?P<team>[^/]+)/[^/]+$")


def listed(file: Path) -> Listed:
    return sources.find([str(file)], {}).inputs[0]


def rows(file: Path, settings: ScanSettings = SETTINGS) -> list[Done]:
    return [
        message for message in reading.answered(Reading(listed(file), settings)) if isinstance(message, Done)
    ]


def test_a_log_as_rows(tmp_path: Path) -> None:
    file = tmp_path / "vision" / "log"
    file.parent.mkdir()
    file.write_bytes(LOG.read_bytes())
    (done,) = rows(file)
    row = done.row
    assert (row["source"], row["status"], row["incidents"]) == (str(file), "read", len(done.incidents))
    assert (row["size"], row["bytes_read"]) == (file.stat().st_size,) * 2
    assert (row["team"], row["job"], row["scan"]) == ("vision", str(file.parent), "2026-1")
    assert {(each["source"], each["team"], each["job"], each["scan"]) for each in done.incidents} == {
        (str(file), "vision", str(file.parent), "2026-1")
    }
    assert row["seconds"] > 0


def test_members_of_an_archive_are_inputs(tmp_path: Path) -> None:
    file = tmp_path / "t.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        archive.add(LOG, "vision/1.log")
        archive.add(SAMPLES.parent / "setup.cfg", "nothing.log")
        archive.add(TWICE, "text/2.log")
    first, second, third = rows(file)
    assert first.row["source"] == f"{file}!/vision/1.log"
    assert (first.row["team"], first.row["size"]) == ("vision", LOG.stat().st_size)
    assert (second.row["status"], second.incidents) == ("no failure", [])
    assert third.row["incidents"] == len(third.incidents) == 4
    assert third.incidents[0]["source"] == f"{file}!/text/2.log"
    known = listed(file)
    assert {(done.row["etag"], done.row["mtime"]) for done in (first, second, third)} == {
        (known.mark, known.mtime)
    }
    rest = [each for each in reading.read(Reading(known, SETTINGS, skip=2)) if isinstance(each, Done)]
    assert [done.row["source"] for done in rest] == [third.row["source"]]


def test_an_archive_without_files_is_an_input(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        archive.add(tmp_path, "folder", recursive=False)
    (done,) = rows(tmp_path / "t.tar")
    assert (done.row["status"], done.row["reason"]) == ("no failure", "an archive without files")
    assert done.row["etag"] is None


def test_what_is_damaged_is_unreadable_only_without_a_failure(tmp_path: Path) -> None:
    (tmp_path / "empty.gz").write_bytes(gzip.compress(os.urandom(10_000))[:200])
    (tmp_path / "cut.gz").write_bytes(gzip.compress(LOG.read_bytes() + os.urandom(100_000))[:-5000])
    cut, empty = rows(tmp_path / "cut.gz") + rows(tmp_path / "empty.gz")
    assert (cut.row["status"], empty.row["status"]) == ("read", "unreadable")
    assert all(done.row["reason"].startswith("damaged after ") for done in (cut, empty))


def test_a_bundle_is_explained_whole(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"2026-11-01 10:00:00 begin\n" + LOG.read_bytes())
    (tmp_path / "run.json").write_text('{\n"tfmemlens_run": 1,\n"ending": "exit status 1"}')
    (bundle,) = sources.find([str(tmp_path)], {}).inputs
    (done,) = [each for each in reading.read(Reading(bundle, SETTINGS)) if isinstance(each, Done)]
    assert (done.row["source"], done.row["status"]) == (str(tmp_path), "read")
    assert f"{done.row['first_time']}" == "2026-11-01 10:00:00"
    assert done.row["bytes_read"] == done.row["size"]
    assert done.incidents
    assert all(each["report"].count(f'"path":"{tmp_path}"') == 1 for each in done.incidents)


def test_a_file_that_changes_while_it_is_read_is_said(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(LOG.read_bytes())
    before = listed(file)
    file.write_bytes(LOG.read_bytes() + b"more\n")
    (done,) = [each for each in reading.read(Reading(before, SETTINGS)) if isinstance(each, Done)]
    assert done.row["reason"] == reading.CHANGED
    assert done.row["size"] == before.size, "so the next scan sees that it is another one"


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (opening.StorageError("503"), End("503")),
        (opening.GoneError("gone"), End("gone", is_final=True)),
        (
            opening.RefusedError("Unable"),  # "storage" in the reason: the next scan asks for it again
            End("storage: Unable where this worker runs", is_final=True),
        ),
        (MemoryError(), End(reading.TOO_MUCH_MEMORY, is_final=True)),
    ],
)
def test_each_end_is_answered(
    error: BaseException, end: End, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: Any) -> Iterator[Any]:
        yield Began("x")
        raise error

    monkeypatch.setattr(reading, "read", failing)
    (tmp_path / "log").write_text("x")
    assert list(reading.answered(Reading(listed(tmp_path / "log"), SETTINGS))) == [Began("x"), end]


# ---- the process


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    made = Reader(1 << 30)
    yield made
    made.stop()


LIMITS = Limits(seconds=60.0, pause_seconds=0.0)


def test_it_answers_one_question_after_the_other(reader: Reader) -> None:
    for file, count in ((LOG, 1), (TWICE, 4), (LOG, 1)):
        ((done, retries),) = inputs(reader, [Reading(listed(file), SETTINGS)], LIMITS)
        assert (done.row["source"], len(done.incidents), retries) == (str(file), count, 0)


class Told(Reader):
    """A process that answers what a test says, attempt by attempt."""

    def __init__(self, *attempts: list[Any]) -> None:
        super().__init__(1 << 30)
        self.attempts = list(attempts)
        self.asked: list[list[tuple[str, int]]] = []

    def ask(self, readings: Sequence[Reading], seconds: float) -> Iterator[Any]:
        self.asked.append([(each.listed.source, each.skip) for each in readings])
        for message in self.attempts.pop(0):
            if isinstance(message, Exception):
                raise message
            yield message


TAR = Listed("/t", "/t", 5, None, "mark")


def done(source: str) -> Done:
    return Done({"source": source, "reason": None}, [])


def outcome(reader: Told) -> list[tuple[str, str | None, int]]:
    found = inputs(reader, [Reading(TAR, SETTINGS)], Limits(retries=2, pause_seconds=0.0))
    return [(each.row["source"], each.row["reason"], retries) for each, retries in found]


def test_a_member_that_kills_the_reader_is_given_up_alone() -> None:
    reader = Told(
        [Began("/t!/1"), done("/t!/1"), Began("/t!/2"), GaveUpError("it took too long")],
        [Began("/t!/3"), done("/t!/3"), End()],
    )
    assert outcome(reader) == [("/t!/1", None, 0), ("/t!/2", "it took too long", 0), ("/t!/3", None, 0)]
    assert reader.asked == [[("/t", 0)], [("/t", 2)]]


def test_a_storage_that_fails_is_asked_again() -> None:
    reader = Told(
        [Began("/t!/1"), done("/t!/1"), Began("/t!/2"), End("503")],
        [End("503")],
        [Began("/t!/2"), done("/t!/2"), End()],
    )
    assert outcome(reader) == [("/t!/1", None, 0), ("/t!/2", None, 2)]
    assert reader.asked == [[("/t", 0)], [("/t", 1)], [("/t", 1)]]


def test_a_storage_that_fails_for_good_is_a_reason_to_try_again_later() -> None:
    assert outcome(Told(*[[End("503")]] * 3)) == [("/t", "storage: 503", 2)]
    assert outcome(Told([End("FileNotFoundError", is_final=True)])) == [("/t", "FileNotFoundError", 0)]


def test_a_file_that_kills_the_reader_at_once_is_given_up() -> None:
    assert outcome(Told([GaveUpError("it died")])) == [("/t", "it died", 0)]
    assert outcome(Told([Began("/t"), GaveUpError("it died")])) == [("/t", "it died", 0)]


def test_the_pause_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    list(inputs(Told(*[[End("503")]] * 9), [Reading(TAR, SETTINGS)], Limits(retries=8)))
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30]


# ---- many files at once

SOME = [Reading(Listed(name, name, 5, None, "mark"), SETTINGS) for name in ("/a", "/b", "/c")]


def told_of(*attempts: list[Any]) -> tuple[list[tuple[str, str | None, int]], list[list[tuple[str, int]]]]:
    """What comes of three files, and what was asked for."""
    reader = Told(*attempts)
    found = inputs(reader, SOME, Limits(retries=2, pause_seconds=0.0))
    return [(each.row["source"], each.row["reason"], retries) for each, retries in found], reader.asked


ALL = [("/a", 0), ("/b", 0), ("/c", 0)]


def of(source: str) -> list[Any]:
    return [Began(source), done(source), End()]


def test_many_files_are_one_question() -> None:
    rows, asked = told_of([*of("/a"), *of("/b"), *of("/c")])
    assert rows == [("/a", None, 0), ("/b", None, 0), ("/c", None, 0)]
    assert asked == [ALL]


def test_what_its_storage_did_not_give_is_asked_for_again_after_the_others() -> None:
    part = [Began("/b!/1"), done("/b!/1"), Began("/b!/2"), End("503")]
    rest = [Began("/b!/2"), done("/b!/2"), End()]
    rows, asked = told_of([*of("/a"), *part, *of("/c")], rest)
    assert rows == [("/a", None, 0), ("/b!/1", None, 0), ("/c", None, 0), ("/b!/2", None, 1)]
    assert asked == [ALL, [("/b", 1)]]


def test_all_attempts_count() -> None:
    rows, asked = told_of([*of("/a"), End("503"), *of("/c")], *[[End("503")]] * 2)
    assert rows[2:] == [("/b", "storage: 503", 2)]
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("begins", "source"), [([], "/b"), ([Began("/b")], "/b"), ([Began("/b!/1")], "/b!/1")]
)
def test_what_is_gone_is_not_asked_for_again(begins: list[Any], source: str) -> None:
    rows, asked = told_of([*of("/a"), *begins, End("gone", is_final=True), *of("/c")])
    assert rows == [("/a", None, 0), (source, "gone", 0), ("/c", None, 0)]
    assert asked == [ALL]


def test_the_file_that_takes_too_long_is_given_up_and_not_the_next() -> None:
    rows, asked = told_of([*of("/a"), Began("/b"), KilledError("too long")], of("/c"))
    assert rows == [("/a", None, 0), ("/b", "too long", 0), ("/c", None, 0)]
    assert asked == [ALL, [("/c", 0)]]


def test_of_an_archive_only_the_member_that_takes_too_long_is_given_up() -> None:
    killed = [Began("/b!/1"), done("/b!/1"), Began("/b!/2"), KilledError("too long")]
    rest = [Began("/b!/3"), done("/b!/3"), End()]
    rows, asked = told_of([*of("/a"), *killed], rest, of("/c"))
    assert rows[1:] == [("/b!/1", None, 0), ("/b!/2", "too long", 0), ("/b!/3", None, 0), ("/c", None, 0)]
    assert asked == [ALL, [("/b", 2)], [("/c", 0)]]


def test_after_a_death_files_are_asked_for_one_by_one() -> None:
    """What the process was about to tell is lost: it may have read the file that it had begun."""
    rows, asked = told_of(
        [*of("/a"), Began("/b"), GaveUpError("it died")], of("/b"), [Began("/c"), GaveUpError("it died")]
    )
    assert rows == [("/a", None, 0), ("/b", None, 0), ("/c", "it died", 0)]
    assert asked == [ALL, [("/b", 0)], [("/c", 0)]]


def test_one_process_reads_a_group(reader: Reader) -> None:
    found = [
        (each.row["source"], len(each.incidents))
        for each, _ in inputs(reader, [Reading(listed(file), SETTINGS) for file in (LOG, TWICE, LOG)], LIMITS)
    ]
    assert found == [(str(LOG), 1), (str(TWICE), 4), (str(LOG), 1)]


class Stuck(BaseHTTPRequestHandler):
    """A storage that fails twice for each file, cuts the answer once, or never answers."""

    asked: dict[str, int]
    waits: threading.Event

    def do_GET(self) -> None:
        name = self.path.strip("/")
        self.asked[name] = self.asked.get(name, 0) + 1
        if name.startswith("never") and self.command == "GET":
            self.waits.wait(60)
        if name.startswith("fails") and self.asked[name] <= 3:
            self.send_error(503, "SlowDown")
            return
        self.send_response(200)
        self.send_header("Content-Length", str(LOG.stat().st_size))
        self.end_headers()
        if self.command == "GET":
            whole = LOG.read_bytes()
            self.wfile.write(
                whole[: len(whole) // 2] if name.startswith("cut") and self.asked[name] <= 3 else whole
            )
        self.close_connection = True

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def storage() -> Iterator[tuple[str, Any]]:
    handler = type("Handler", (Stuck,), {"asked": {}, "waits": threading.Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler
    handler.waits.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("name", ["fails", "cut"])
def test_a_storage_on_the_net_that_fails_twice(name: str, reader: Reader, storage: tuple[str, Any]) -> None:
    url = f"{storage[0]}/{name}"
    file = Listed(url, url, LOG.stat().st_size, None, "")
    ((done, retries),) = inputs(reader, [Reading(file, SETTINGS)], LIMITS)
    assert (done.row["status"], len(done.incidents)) == ("read", 1)
    assert retries == 3


@pytest.mark.whole
def test_a_file_that_hangs_is_given_up_and_the_next_is_read(reader: Reader, storage: tuple[str, Any]) -> None:
    list(inputs(reader, [Reading(listed(LOG), SETTINGS)], LIMITS))
    url = f"{storage[0]}/never"
    hangs = Reading(Listed(url, url, LOG.stat().st_size, None, ""), SETTINGS)
    ((done, _),) = inputs(reader, [hangs], Limits(seconds=0.5))
    assert (done.row["status"], done.row["reason"]) == (
        "unreadable",
        "it took longer than 0.5 s (--time-limit)",
    )
    ((done, _),) = inputs(reader, [Reading(listed(LOG), SETTINGS)], LIMITS)
    assert done.row["status"] == "read"


def test_a_reader_that_dies_is_said(reader: Reader, storage: tuple[str, Any]) -> None:
    list(inputs(reader, [Reading(listed(LOG), SETTINGS)], LIMITS))
    url = f"{storage[0]}/never"
    process = reader._process
    assert process is not None
    storage[1].do_GET = lambda handler: (os.kill(process.pid, signal.SIGKILL), handler.waits.wait(60))
    hangs = Reading(Listed(url, url, LOG.stat().st_size, None, ""), SETTINGS)
    ((done, _),) = inputs(reader, [hangs], LIMITS)
    assert done.row["reason"] == "the process that read it died (signal 9)"


def test_a_file_that_needs_too_much_memory_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "notebook.ipynb").write_bytes(b'{"cells": [' + b"1," * (12 << 20) + b"1]}")
    small = Reader(48 << 20)
    try:
        question = Reading(listed(tmp_path / "notebook.ipynb"), SETTINGS)
        ((done, _),) = inputs(small, [question], LIMITS)
    finally:
        small.stop()
    assert done.row["status"] == "unreadable"
    assert "--memory-limit" in done.row["reason"] or "died" in done.row["reason"]


def test_it_ends_with_its_parent_and_when_it_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(Exception):
        pass

    def ended(status: int) -> None:
        raise Ended

    monkeypatch.setattr(os, "_exit", ended)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(Ended):
        reading._watch([float("inf")], parent=-1, answers=io.BytesIO())
    with pytest.raises(Ended):
        reading._watch([-1e9], parent=os.getppid(), answers=io.BytesIO())
    closed = io.BytesIO()
    closed.close()
    with pytest.raises(Ended):
        reading._watch([float("inf")], parent=os.getppid(), answers=closed)


def test_another_limit_is_another_process(reader: Reader) -> None:
    list(inputs(reader, [Reading(listed(LOG), SETTINGS)], LIMITS))
    before = reader._process
    reader.limit(1 << 30)
    assert reader._process is before
    reader.limit(2 << 30)
    assert reader._process is None
    reader.limit(1 << 30)
