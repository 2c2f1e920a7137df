"""The folder of scans: whatever is cut short, and wherever: nothing is lost, nothing is there twice."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.needed import fleet
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.fleet import schema, stages, store
from tfmemlens.fleet.store import OutputFailed, Store

pytestmark = fleet

FIRST, SECOND = "2026-1", "2026-2"


class Killed(BaseException):
    """As if the process ended here."""


@pytest.fixture
def folder(tmp_path: Path) -> Store:
    made = Store(str(tmp_path / "out"))
    made.make()
    return made


def input_row(source: str, scan: str, incidents: int, **values: Any) -> dict[str, Any]:
    status = schema.READ if incidents else schema.NO_FAILURE
    row = {
        "source": source,
        "status": status,
        "incidents": incidents,
        "scan": scan,
        "size": 7,
        "seconds": 1.0,
    }
    return schema.empty(schema.INPUTS) | row | values


def incident_row(source: str, scan: str, line: int = 1, **values: Any) -> dict[str, Any]:
    row = {"source": source, "scan": scan, "line": line, "verdict": f"{scan}", "occurrences": 1}
    return schema.empty(schema.INCIDENTS) | row | {"signature": "s", "report": "{}"} | values


def stage(folder: Store, scan: str, name: str, files: dict[str, int]) -> None:
    with folder.staging(scan, name) as stage:
        for source, incidents in files.items():
            stage.add_incidents(incident_row(source, scan, line) for line in range(1, incidents + 1))
            stage.add_input(input_row(source, scan, incidents))


def tables(folder: Store) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Which rows the tables have, read as any program does that knows Parquet."""
    import pyarrow.parquet as parquet

    rows = []
    for table in ("inputs", "incidents"):
        files = sorted(Path(folder.root, table).glob("*.parquet"))
        found = [row for file in files for row in parquet.read_table(file).to_pylist()]
        rows.append(sorted((row["source"], row["scan"]) for row in found))
        assert sorted((row["source"], row["scan"]) for row in folder.table(table).to_pylist()) == rows[-1]
    return rows[0], rows[1]


def read_of(scan: str, files: dict[str, int]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    return (
        sorted((source, scan) for source in files),
        sorted((source, scan) for source, count in files.items() for _ in range(count)),
    )


A = {"/l/a.log": 2, "/l/b.log": 0, "/l/t.tar!/1": 1, "/l/t.tar!/2": 1}


def test_what_is_committed_is_in_the_tables_and_known(folder: Store) -> None:
    stage(folder, FIRST, "x", A)
    assert tables(folder) == ([], [])
    known: dict[str, store.KnownFile] = {}
    done = folder.commit(FIRST, ["x"], known, "n")
    assert dict(done.counts) == {"read": 3, "no failure": 1, "incidents": 4}
    assert tables(folder) == read_of(FIRST, A)
    assert set(known) == {"/l/a.log", "/l/b.log", "/l/t.tar"} == set(folder.known())
    assert known == folder.known()
    assert folder._names("_staging", FIRST) == []


def test_what_is_read_again_replaces_what_was_there(folder: Store) -> None:
    stage(folder, FIRST, "x", A | {"/l/stays": 1})
    known: dict[str, store.KnownFile] = {}
    folder.commit(FIRST, ["x"], known, "n1")
    again = {"/l/a.log": 1, "/l/b.log": 3, "/l/t.tar!/2": 0}
    stage(folder, SECOND, "x", again)
    folder.commit(SECOND, ["x"], known, "n2")
    new, old = read_of(SECOND, again), read_of(FIRST, {"/l/stays": 1})
    assert tables(folder) == (sorted(new[0] + old[0]), sorted(new[1] + old[1]))
    assert known == folder.known()
    stage(folder, "2026-3", "x", {"/l/stays": 0, "/l/a.log": 0, "/l/b.log": 0, "/l/t.tar": 0})
    folder.commit("2026-3", ["x"], known, "n3")
    assert tables(folder)[1] == []
    assert len(folder._names("inputs")) == 1, "a part that lost all its rows is gone"


def test_a_late_task_of_an_old_scan_replaces_nothing(folder: Store) -> None:
    known: dict[str, store.KnownFile] = {}
    stage(folder, SECOND, "x", A)
    folder.commit(SECOND, ["x"], known, "n1")
    stage(folder, FIRST, "late", {"/l/a.log": 5})
    stage(folder, SECOND, "twice", {"/l/a.log": 5})
    for scan, name in ((FIRST, "late"), (SECOND, "twice")):
        assert not folder.commit(scan, [name], known, f"n-{name}").counts
    assert tables(folder) == read_of(SECOND, A)


def test_a_file_that_two_tasks_have_counts_once(folder: Store) -> None:
    stage(folder, FIRST, "x", {"/l/a.log": 2})
    stage(folder, FIRST, "y", {"/l/a.log": 2, "/l/b.log": 1})
    folder.commit(FIRST, ["x", "y"], {}, "n")
    assert tables(folder) == read_of(FIRST, {"/l/a.log": 2, "/l/b.log": 1})


def steps(folder: Store, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process end before so many more of the steps in which the folder changes."""
    left = [count]

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def taken(*arguments: Any, **options: Any) -> Any:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return step(*arguments, **options)

        return taken

    for name in ("replace", "unlink"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    for name in ("_remove", "_remove_folder"):
        monkeypatch.setattr(folder, name, counted(getattr(folder, name)))


@pytest.mark.parametrize("count", range(18))
def test_a_commit_that_is_cut_short_anywhere_is_whole_afterwards(
    count: int, folder: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, store.KnownFile] = {}
    stage(folder, FIRST, "x", A | {"/l/stays": 1})
    folder.commit(FIRST, ["x"], known, "n1")
    again = {"/l/a.log": 1, "/l/t.tar!/1": 0, "/l/new": 2}
    stage(folder, SECOND, "x", again)
    stage(folder, SECOND, "y", {"/l/other": 1})
    with monkeypatch.context() as patched:
        steps(folder, count, patched)
        try:
            folder.commit(SECOND, ["x", "y"], known, "n2")
            assert count > 12
        except Killed:
            pass
    new = read_of(SECOND, again | {"/l/other": 1})
    old = read_of(FIRST, {"/l/b.log": 0, "/l/stays": 1})
    after = tuple(sorted(mine + other) for mine, other in zip(new, old, strict=True))
    if "n2.pending.json" in folder._names("_commits"):
        folder.files("inputs")
        assert tables(folder) == after, "once there is a record, a reader finds all of it, and finishes it"
    fresh = Store(folder.url)
    recovered, _ = fresh.recover("n3")
    assert tables(fresh) == after
    assert recovered == fresh.known()
    assert fresh._names("_staging") == []
    assert fresh._names("_commits")[0] == "n1.json"
    assert not [name for name in fresh._names("_commits") if "pending" in name]
    names = [name for table in ("incidents", "inputs") for name in fresh._names(table)]
    assert all(name.endswith(".parquet") for name in names), names


def test_what_was_staged_and_never_committed_is_saved(folder: Store) -> None:
    stage(folder, FIRST, "x", A)
    Path(folder._path("_staging", FIRST, ".tmp-half")).write_bytes(b"half")
    known, saved = folder.recover("n")
    assert tables(folder) == read_of(FIRST, A)
    assert saved.counts["incidents"] == 4
    assert set(known) == {"/l/a.log", "/l/b.log", "/l/t.tar"}
    assert folder._names("_staging") == []


def test_a_reader_sees_a_commit_whole_while_it_is_on_its_way(
    folder: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, store.KnownFile] = {}
    stage(folder, FIRST, "x", A)
    folder.commit(FIRST, ["x"], known, "n1")
    stage(folder, SECOND, "x", {"/l/a.log": 1})
    seen: list[list[tuple[str, str]]] = []
    move = folder._move

    def watched(*arguments: str) -> None:
        reader = Store(folder.url)
        rows = reader.table("incidents", ["source", "scan"]).to_pylist()
        seen.append(sorted((row["source"], row["scan"]) for row in rows))
        move(*arguments)

    monkeypatch.setattr(folder, "_move", watched)
    with folder.locked():
        folder.commit(SECOND, ["x"], known, "n2")
    assert len(seen) > 3
    assert set(map(tuple, seen)) == {tuple(tables(folder)[1])}


def test_ranges_of_a_log_become_one_input(folder: Store) -> None:
    early, late = datetime(2026, 11, 1), datetime(2026, 11, 2)
    for number, (lines, first, last) in enumerate([(100, early, None), (50, None, late)]):
        with folder.staging_range(f"r{number}") as staged:
            staged.add_incidents([incident_row("/l/big", FIRST, 7), incident_row("/l/big", FIRST, None)])  # type: ignore[arg-type]
            staged.add_input(input_row("/l/big", FIRST, 2, first_time=first, last_time=last, bytes_read=10))
            staged.lines = lines
    assert folder.staged_ranges() == {"r0", "r1"}
    folder.recover("n")
    assert folder.staged_ranges() == {"r0", "r1"}, "the next scan needs only the others"
    folder.join_ranges(["r0", "r1"], SECOND, "joined")
    folder.commit(SECOND, ["joined"], {}, "n")
    (row,) = folder.table("inputs").to_pylist()
    assert (row["incidents"], row["first_time"], row["last_time"]) == (4, early, late)
    assert (row["bytes_read"], row["seconds"], row["status"]) == (20, 2.0, "read")
    assert [each["line"] for each in folder.table("incidents").to_pylist()] == [7, None, 107, None]
    assert folder.staged_ranges() == set()


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (["read", "unreadable"], "read"),
        (["no failure", "unreadable"], "unreadable"),
        (["no failure", "no failure"], "no failure"),
    ],
)
def test_the_status_of_ranges(statuses: list[str], status: str) -> None:
    rows = [
        input_row("/l/b", FIRST, 0, status=each, reason="cut" * (each == "unreadable")) for each in statuses
    ]
    joined = stages.one_input(rows)
    assert joined["status"] == status
    assert joined["reason"] == ("cut" if "unreadable" in statuses else None)


def test_a_second_scan_waits(folder: Store) -> None:
    with folder.locked(), pytest.raises(UsageError, match="another scan"), Store(folder.url).locked():
        pass
    with folder.locked():
        pass


def test_a_full_disk_is_told_and_leaves_nothing_half(folder: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, store.KnownFile] = {}
    stage(folder, FIRST, "x", A)
    folder.commit(FIRST, ["x"], known, "n1")
    stage(folder, SECOND, "x", {"/l/a.log": 3})

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(OutputFailed, match="No space left"):
            folder.commit(SECOND, ["x"], known, "n2")
        with pytest.raises(OutputFailed, match="No space left"):
            stage(folder, SECOND, "y", {"/l/b.log": 3})
    assert tables(folder) == read_of(FIRST, A)
    Store(folder.url).recover("n3")
    assert ("/l/a.log", SECOND) in tables(folder)[0]


def test_what_arrow_cannot_hold_is_left_out_of_its_row(folder: Store) -> None:
    with folder.staging(FIRST, "x") as staged:
        bad = {"verdict": "half \udce9", "limit_bytes": 1 << 70, "kinds": {"gradient": 5}}
        staged.add_incidents([incident_row("/l/a", FIRST, **bad), incident_row("/l/a", FIRST)])
        staged.add_input(input_row("/l/a", FIRST, 2, labels={"shift": "night"}))
    folder.commit(FIRST, ["x"], {}, "n")
    first, second = folder.table("incidents").to_pylist()
    assert (first["verdict"], first["limit_bytes"]) == ("half \\udce9", None)
    assert first["kinds"] == [("gradient", 5)]
    assert second["verdict"] == FIRST
    assert folder.table("inputs").to_pylist()[0]["labels"] == [("shift", "night")]


def test_many_rows_are_written_in_groups(folder: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as parquet

    monkeypatch.setattr(stages, "_ROWS_A_BATCH", 10)
    monkeypatch.setattr(stages, "_ROWS_A_GROUP", 20)
    stage(folder, FIRST, "x", {"/l/a": 55})
    folder.commit(FIRST, ["x"], {}, "n")
    (path,) = folder.files("incidents")
    assert parquet.ParquetFile(path).num_row_groups == 3
    assert folder.table("incidents").num_rows == 55


def test_no_scan_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="holds no scan"):
        Store(str(tmp_path)).files("incidents")
    (tmp_path / "inputs").write_text("a file")
    with pytest.raises(UnreadableInput, match="holds no scan"):
        Store(str(tmp_path / "no")).files("incidents")


def test_dask_and_pandas_read_it(folder: Store) -> None:
    import pandas

    assert len(store.read(folder.url).compute()) == 0
    stage(folder, FIRST, "x", A)
    folder.commit(FIRST, ["x"], {}, "n")
    assert len(store.read(folder.url, columns=["source", "signature"]).compute(scheduler="synchronous")) == 4
    assert store.read(folder.url, "inputs").incidents.sum().compute(scheduler="synchronous") == 4
    assert pandas.read_parquet(folder._path("incidents")).source.nunique() == 3


def test_a_record_says_what_was_done(folder: Store) -> None:
    stage(folder, FIRST, "x", {"/l/a.log": 2})
    folder.commit(FIRST, ["x"], {}, "n")
    record = json.loads(Path(folder._path("_commits", "n.json")).read_text())
    assert [target for _, target in record["moves"]] == ["inputs/n.parquet", "incidents/n.parquet"]
