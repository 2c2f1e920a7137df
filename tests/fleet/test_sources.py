"""What there is to read: files, folders, globs, bundles, and what each name says of its job."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from tests.fleet.needed import fleet
from tfmemlens.errors import MissingExtra, MissingInput, UnreadableInput, UsageError
from tfmemlens.fleet import sources
from tfmemlens.fleet.sources import Listed
from tfmemlens.fleet.store import OutputFailed, Store

pytestmark = fleet


def write(folder: Path, *names: str, text: str = "step 1\n") -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def names(folder: Path, *places: str, without: str = "") -> list[str]:
    found = sources.find([str(folder / place) for place in places], {}, without)
    return [os.path.relpath(each.source, folder) for each in found.inputs]


def test_a_folder_stands_for_its_logs(tmp_path: Path) -> None:
    write(tmp_path, "b/2.log", "a/1.log", ".hidden", "a/.git/x", "a/train.py", "out/incidents/x.parquet")
    os.mkfifo(tmp_path / "a" / "pipe")
    assert names(tmp_path, "", without=str(tmp_path / "out")) == ["a/1.log", "b/2.log"]


def test_a_glob_finds_files_and_folders(tmp_path: Path) -> None:
    write(tmp_path, "jobs-1/x/1.log", "jobs-2/2.log", "other/3.log", "jobs-2/train.py")
    assert names(tmp_path, "jobs-*") == ["jobs-1/x/1.log", "jobs-2/2.log"]
    assert names(tmp_path, "**/*.log") == ["jobs-1/x/1.log", "jobs-2/2.log", "other/3.log"]
    assert names(tmp_path, "jobs-2/*") == ["jobs-2/2.log", "jobs-2/train.py"], "what is named is read"
    assert names(tmp_path, "jobs-2/*.log", "jobs-2") == ["jobs-2/2.log"], "each once"


def test_a_name_that_is_a_pattern_is_a_file_first(tmp_path: Path) -> None:
    write(tmp_path, "a[1].log", "a1.log")
    assert names(tmp_path, "a[1].log") == ["a[1].log"]


def test_a_bundle_is_one_input(tmp_path: Path) -> None:
    write(tmp_path, "b/log.txt", "b/rank-1/log.txt", "c/log.txt", "c/run.json")
    write(tmp_path, "b/run.json", text='{\n "tfmemlens_run": 1}')
    found = sources.find([str(tmp_path)], {}).inputs
    assert [(os.path.relpath(each.source, tmp_path), each.is_bundle) for each in found] == [
        ("c/log.txt", False), ("c/run.json", False), ("b", True),
    ]  # fmt: skip
    bundle = found[-1]
    write(tmp_path, "b/rank-1/log.txt", text="step 2\nstep 3\n")
    assert sources.find([str(tmp_path)], {}).inputs[-1].etag != bundle.etag


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="hold no files"):
        sources.find([str(tmp_path)], {})
    with pytest.raises(MissingInput):
        sources.find([str(tmp_path / "no" / "*.log")], {})
    with pytest.raises(MissingInput):
        sources.find([str(tmp_path / "no")], {})
    with pytest.raises(UsageError, match="cannot be opened"):
        sources.find(["nonsense://x"], {})


def test_what_a_driver_raises_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable(Exception):
        pass

    def unreachable(fs: object, path: str, **options: object) -> None:
        raise Unreachable("no such host")

    for question in ("info", "makedirs"):
        monkeypatch.setattr(f"fsspec.implementations.memory.MemoryFileSystem.{question}", unreachable)
    with pytest.raises(UnreadableInput, match="cannot be listed: Unreachable: no such host"):
        sources.find(["memory://x"], {})
    with pytest.raises(OutputFailed, match="cannot be written: Unreachable: no such host"):
        Store("memory://x").make()
    with pytest.raises(KeyError), sources.storage_errors():
        raise KeyError("a slip")


def test_a_scheme_names_the_extra_that_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gcsfs", None)
    with pytest.raises(MissingExtra, match=r"tfmemlens\[gcs\]"):
        sources.find(["gs://bucket/x"], {})


@pytest.mark.parametrize(
    ("url", "package"), [("https://host/x", r"tfmemlens\[http\]"), ("odd://x", "fsspec needs for odd://")]
)
def test_what_a_scheme_lacks_is_named(url: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*words: object, **options: object) -> None:
        raise ImportError("it requires a package")

    monkeypatch.setattr("fsspec.core.url_to_fs", lacking)
    with pytest.raises(MissingExtra, match=package):
        sources.find([url], {})


def test_a_machine_belongs_to_a_name_and_a_password_does_not() -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    class Remote(MemoryFileSystem):  # type: ignore[misc]
        @staticmethod
        def _get_kwargs_from_urls(url: str) -> dict[str, str]:
            return {"host": url}

    ftp, memory = Remote(), MemoryFileSystem()
    url = sources.name_of("ftp://me:se:cret@host:21/jobs/*", ftp, "/jobs/a.log")
    assert url == "ftp://me:se:cret@host:21/jobs/a.log"
    assert sources.as_source(url) == "ftp://me@host:21/jobs/a.log"
    assert sources.name_of("memory://jobs/*", memory, "/jobs/a.log") == "memory:///jobs/a.log"
    assert sources.as_source("/jobs/12:30@night/a.log") == "/jobs/12:30@night/a.log"


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is closed to root")
def test_a_closed_folder_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a/1.log", "closed/2.log")
    (tmp_path / "closed").chmod(0)
    try:
        found = sources.find([str(tmp_path)], {})
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert len(found.inputs) == 1
    assert "closed" in found.problems[0]


def test_a_name_means_one_thing(tmp_path: Path) -> None:
    write(tmp_path, "wow!/1.log", "caf\udce9.log")
    assert names(tmp_path, "") == ["caf\\udce9.log", "wow%21/1.log"]


WHEN = datetime(2026, 11, 1)


@pytest.mark.parametrize(
    ("mine", "same", "other"),
    [
        (Listed("a", "a", 5, WHEN, ""), (5, WHEN, ""), (5, None, "")),
        (Listed("a", "a", 5, WHEN, ""), (5, WHEN, ""), (6, WHEN, "")),
        (Listed("a", "a", 5, WHEN, "x"), (5, None, "x"), (5, WHEN, "y")),
        (Listed("a", "a", 5, WHEN, "x"), (5, None, "x"), (5, WHEN, "")),
        (Listed("t", "t", 5, WHEN, "x"), (None, WHEN, "x"), (None, WHEN, "y")),
        (
            Listed("t", "t", 5, WHEN, ""),
            (None, WHEN, "archive of 5 bytes"),
            (None, WHEN, "archive of 6 bytes"),
        ),
    ],
)
def test_what_is_as_it_was(mine: Listed, same: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert mine.is_as(*same)  # type: ignore[arg-type]
    assert not mine.is_as(*other)  # type: ignore[arg-type]


def test_what_a_storage_tells_nothing_of_is_never_as_it_was() -> None:
    assert not Listed("a", "a", 5, None, "").is_as(5, None, "")
    assert not Listed("t", "t", 5, None, "").is_as(None, None, "archive of 5 bytes")


@pytest.mark.parametrize(
    ("info", "when", "mark"),
    [
        ({"mtime": 1793491200.25}, datetime(2026, 11, 1, 0, 0, 0, 250000), ""),
        ({"LastModified": datetime.fromisoformat("2026-11-01T01:00:00+01:00"), "ETag": '"ab"'}, WHEN, "ab"),
        ({"updated": "2026-11-01T00:00:00.000Z", "etag": "CJ="}, WHEN, "CJ="),
        ({"Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"}, WHEN, ""),
        ({"mtime": "yesterday"}, None, ""),
        ({"modify": "20261101000000.123"}, WHEN, ""),
        ({"modify": "yesterday"}, None, ""),
        ({}, None, ""),
    ],
)
def test_each_storage_has_its_words(info: dict[str, object], when: datetime | None, mark: str) -> None:
    assert (sources._time(info), sources._mark(info)) == (when, mark)


def test_a_pattern_names_the_job() -> None:
    columns = sources.job_columns(
        r"jobs/(?P<team>[^/]+)/(?P<job>[^/]+)/(?:r(?P<rank>\d+)-)?(?P<shift>day|night)"
    )
    assert columns("s3://b/jobs/vision/u-17/r3-night.log") == {
        "team": "vision", "job": "u-17", "rank": "3", "host": None, "labels": {"shift": "night"},
    }  # fmt: skip
    nothing = {"team": None, "rank": None, "host": None, "labels": None}
    assert columns("s3://b/else/x.log") == nothing | {"job": "s3://b/else"}
    assert sources.job_columns(None)("/l/a.tar!/x.log") == nothing | {"job": "/l/a.tar"}
    with pytest.raises(UsageError, match="no regular expression"):
        sources.job_columns("(")


def test_a_list_of_sources() -> None:
    assert sources.read_list(["# logs\n", "\n", " a b.log \n", "s3://x"]) == ["a b.log", "s3://x"]
