"""What a folder of failures answers: jobs once, hours once, a trend that is fair, an example that stays."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tfmemlens
from tests.fleet.made import at, failure, log, write
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.fleet import answers
from tfmemlens.fleet.questions import moment
from tfmemlens.model.fleet import FailureGroup

pytest.importorskip("pyarrow")


def groups(found: Any) -> dict[str | None, FailureGroup]:
    return {group.name: group for group in found.groups}


def test_ranks_and_retries_are_one_job(tmp_path: Path) -> None:
    rows = [
        failure(f"a/{attempt}/{rank}.log", team="t", job="a", time=at(0))
        for attempt in (1, 2)
        for rank in (0, 1)
    ]
    rows += [
        failure("u/a.log", team="u", job="a", time=at(0)),
        failure("b.log", time=at(0)),
        failure("c.log"),
    ]
    (group,) = answers.rank(write(tmp_path / "d", rows)).groups
    assert group.tally.failures == 7
    assert group.tally.jobs == 4, "the same name in another team, and two sources without a job"


def test_hours_are_counted_once_and_of_failed_runs_alone(tmp_path: Path) -> None:
    rows = [
        failure(f"{name}.log", job="a", time=at(0, 2)) for name in ("rank0", "rank1", "retry", "clockless")
    ]
    inputs = [
        log("rank0.log", at(0, 0), at(0, 2)),
        log("rank1.log", at(0, 1), at(0, 3)),
        log("retry.log", at(0, 5), at(0, 6)),
        log("clockless.log"),
        log("ended-well.log", at(0, 7), at(0, 9), status="no failure", incidents=0, job="a"),
    ]
    ranking = answers.rank(write(tmp_path / "d", rows, inputs))
    assert ranking.whole.hours_lost == 4, "0-3 once for two ranks, 5-6 for the retry, not what ended well"
    assert ranking.groups[0].tally.hours_lost == 4
    assert ranking.read.statuses == {"no failure": 1, "read": 4}


def test_hours_of_a_group_are_of_its_own_runs(tmp_path: Path) -> None:
    rows = [failure("x.log", job="a", signature="one"), failure("y.log", job="a", signature="two")]
    inputs = [log("x.log", at(0), at(0, 1)), log("y.log", at(0, 3), at(0, 5))]
    found = groups(answers.rank(write(tmp_path / "d", rows, inputs)))
    assert (found["one"].tally.hours_lost, found["two"].tally.hours_lost) == (1, 2)


def test_without_time_stamps_no_hours_are_claimed(tmp_path: Path) -> None:
    (group,) = answers.rank(write(tmp_path / "d", [failure("x.log")], [log("x.log", at(1), None)])).groups
    assert group.tally.hours_lost is None


def test_hours_agree_with_a_slow_count(tmp_path: Path) -> None:
    chance = random.Random(5)
    rows, inputs, minutes = [], [], {}
    for number in range(300):
        job, start, length = f"j{chance.randrange(20)}", chance.randrange(5000), chance.randrange(1, 300)
        rows.append(failure(f"{number}.log", job=job, signature=f"s{number % 3}"))
        inputs.append(log(f"{number}.log", at(0, start / 60), at(0, (start + length) / 60)))
        minutes.setdefault((number % 3, job), set()).update(range(start, start + length))
    found = groups(answers.rank(write(tmp_path / "d", rows, inputs, files=3)))
    for signature in range(3):
        slow = sum(len(covered) for (group, _), covered in minutes.items() if group == signature)
        assert found[f"s{signature}"].tally.seconds_lost == pytest.approx(slow * 60, abs=200)


def test_most_jobs_come_first(tmp_path: Path) -> None:
    rows = [failure(f"noisy{n}.log", job="one", signature="noisy") for n in range(9)]
    rows += [failure(f"wide{n}.log", job=f"j{n}", signature="wide") for n in range(2)]
    rows += [failure("b.log", job="b", signature="b"), failure("a.log", job="a", signature="a")]
    ranking = answers.rank(write(tmp_path / "d", rows), limit=3)
    assert [group.name for group in ranking.groups] == ["wide", "noisy", "a"]
    assert (ranking.others, ranking.others_failures) == (1, 1)


@pytest.mark.parametrize("by", answers.BY)
def test_null_is_a_group_of_its_own(by: str, tmp_path: Path) -> None:
    known = dict.fromkeys(("team", "job", "host", "rule", "layer", "version", "device"), "x")
    rows = [failure("a/a.log", **known), failure("b/b.log")]
    frame = answers.top(write(tmp_path / "d", rows), by=by)
    if by == "signature":
        assert list(frame[by]) == ["s"]
    elif by == "job":
        assert sorted(frame[by]) == ["b/b.log", "x/x"], "without a job the source stands for it"
    else:
        assert frame[by].isna().sum() == 1 and "x" in set(frame[by].dropna())
    assert frame["failures"].sum() == 2


def test_the_trend_compares_two_weeks(tmp_path: Path) -> None:
    times = [at(-20), *[at(-9)] * 2, *[at(-2)] * 3]
    rows = [failure(f"{n}.log", job=f"j{n}", time=time) for n, time in enumerate(times)]
    folder = write(tmp_path / "d", [*rows, failure("end.log", job="j5", time=at(0))])
    (group,) = answers.rank(folder).groups
    assert (group.jobs_before, group.jobs_now) == (2, 3)
    ranking = answers.rank(folder, since="3d")
    assert (ranking.groups[0].jobs_before, ranking.groups[0].jobs_now) == (0, 3)
    assert ranking.whole.failures == 4


def test_no_trend_where_the_data_do_not_reach_back(tmp_path: Path) -> None:
    rows = [failure(f"{n}.log", time=at(-n)) for n in range(11)]
    folder = write(tmp_path / "d", rows)
    assert answers.rank(folder, since="6d").groups[0].jobs_before is None
    assert answers.rank(folder, since="5d").groups[0].jobs_before == 5
    assert answers.rank(folder).windows.length == timedelta(days=5)


def test_a_failure_without_a_time_takes_its_logs_end(tmp_path: Path) -> None:
    rows = [failure("stamped.log"), failure("changed.log"), failure("unknown.log")]
    inputs = [log("stamped.log", at(0), at(1)), log("changed.log", mtime=at(2)), log("unknown.log")]
    folder = write(tmp_path / "d", rows, inputs)
    ranking = answers.rank(folder, since=at(1, 12))
    assert (ranking.whole.failures, ranking.undated) == (1, 1)
    assert ranking.groups[0].example.source == "changed.log"


def test_a_clock_that_is_wrong_moves_no_period(tmp_path: Path) -> None:
    rows = [failure("a.log", time=at(0)), failure("b.log", time=datetime(2999, 1, 1))]
    ranking = answers.rank(
        write(tmp_path / "d", rows, [log("b.log", at(0), datetime(2999, 1, 2))]), since="1d"
    )
    assert ranking.end == at(0)


@pytest.mark.parametrize("files", [1, 3])
def test_the_example_stays_whatever_the_order(files: int, tmp_path: Path) -> None:
    rows = [failure(f"{name}.log", line=line, time=at(day)) for name, line, day in
            [("old", 1, -1), ("b", 1, 0), ("a", 9, 0), ("a", 2, 0), ("c", None, 0)]]  # fmt: skip
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        (group,) = answers.rank(write(tmp_path / str(seed), rows, files=files)).groups
        assert (group.example.source, group.example.line) == ("a.log", 2)
        assert group.example.verdict == "verdict of a.log"


def test_a_frame_answers_as_its_folder(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [failure(f"{n}.log", job=f"j{n % 3}", time=at(-n), signature=f"s{n % 2}") for n in range(8)]
    folder = write(tmp_path / "d", rows, files=2)
    frame = pandas.DataFrame(rows)
    pandas.testing.assert_frame_equal(answers.top(frame), answers.top(folder), check_dtype=False)
    with pytest.raises(UnreadableInput, match="no column"):
        answers.top(frame.drop(columns="signature"))


def test_no_rows_are_no_failure(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", [], [log("a.log", at(0), at(1), status="no failure", incidents=0)])
    ranking = answers.rank(folder)
    assert (ranking.groups, ranking.whole.failures, ranking.read.inputs) == ((), 0, 1)
    assert len(answers.top(folder)) == 0


def compare(tmp_path: Path, days: dict[str, tuple[float, ...]], inputs: list[Any], **asked: Any) -> Any:
    rows = [
        failure(f"{name}{n}.log", job=name, signature=name, time=at(day))
        for name, found in days.items()
        for n, day in enumerate(found)
    ]
    return answers.compare(write(tmp_path / "d", rows, inputs), **asked)


def test_new_is_what_was_not_there_before(tmp_path: Path) -> None:
    days = {"old": (-5.0, 1.0), "new": (1.0, 2.0), "gone": (-5.0,), "between": (-1.0, 1.0)}
    found = compare(
        tmp_path, days, [log("x.log", at(-9), at(9), incidents=0)], after="2024-11-20", before="11d"
    )
    assert [group.name for group in found.new] == ["new", "between"]
    assert (found.known, found.gone, found.decided) == (1, 1, True)
    assert found.new[0].tally.failures == 2


def test_a_side_that_nobody_read_decides_nothing(tmp_path: Path) -> None:
    calm = [log("x.log", at(-9), at(-8), incidents=0, status="no failure")]
    found = compare(tmp_path / "a", {"new": (1.0,)}, [], after=at(0))
    assert not found.decided and len(found.new) == 1
    found = compare(tmp_path / "b", {"new": (1.0,)}, calm, after=at(0))
    assert found.decided and found.earlier.inputs == 1, "what was read and calm is a side"
    found = compare(tmp_path / "c", {"old": (-8.0,)}, calm, after=at(0))
    assert not found.decided and not found.new
    unreadable = [log("x.log", at(-9), at(-8), incidents=0, status="unreadable")]
    assert not compare(tmp_path / "d", {"new": (1.0,)}, unreadable, after=at(0)).decided


def test_sides_do_not_overlap(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="overlap"):
        compare(tmp_path, {"a": (1.0,)}, [], after=at(0), before=at(1))


@pytest.mark.parametrize(
    ("when", "then"),
    [
        ("2024-11-19", datetime(2024, 11, 19)),
        ("2024-11-19T06:30", datetime(2024, 11, 19, 6, 30)),
        ("2024-11-19T06:30:00Z", datetime(2024, 11, 19, 6, 30)),
        ("2024-11-19T06:30:00+02:00", datetime(2024, 11, 19, 4, 30)),
        ("2d", datetime(2024, 11, 18)),
        ("36h", datetime(2024, 11, 18, 12)),
        ("1w", datetime(2024, 11, 13)),
        (timedelta(minutes=1), datetime(2024, 11, 19, 23, 59)),
        (datetime(2024, 11, 19).date(), datetime(2024, 11, 19)),
    ],
)
def test_when(when: Any, then: datetime) -> None:
    assert moment(when, at(0)) == then


@pytest.mark.parametrize("when", ["yesterday", "", "7", "7 years", "-1d", timedelta(days=-1), "999999w"])
def test_what_is_no_time(when: Any) -> None:
    with pytest.raises(UsageError):
        moment(when, at(0))


def test_a_length_needs_an_end() -> None:
    with pytest.raises(UsageError, match="no failure has a time"):
        moment("7d", None)


def test_what_is_no_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="does not exist"):
        answers.top(tmp_path / "nothing")
    with pytest.raises(UnreadableInput, match="no folder that a scan wrote"):
        answers.top(tmp_path)
    folder = Path(write(tmp_path / "d", [failure("a.log")]))
    (folder / "incidents" / "1.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(UnreadableInput, match="cannot be read"):
        answers.top(folder)
    with pytest.raises(UsageError, match="not grouped by color"):
        answers.top(folder, by="color")


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    folder = Path(write(tmp_path / "d", [failure("a.log")]))
    file = folder / "incidents" / "0.parquet"
    pq.write_table(pq.read_table(file).replace_schema_metadata({"tfmemlens.fleet": "2"}), file)
    with pytest.raises(UnreadableInput, match="version 2"):
        answers.top(folder)


def test_the_api_is_reached_lazily(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", [failure("a.log", time=at(0))])
    heavy = "{'dask', 'pyarrow', 'pandas', 'numpy'}"
    code = f"import sys, tfmemlens; tfmemlens.fleet; print(*{heavy} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
    assert len(tfmemlens.fleet.top(folder)) == 1
    assert list(tfmemlens.fleet.diff(folder, after=at(-1)).columns)[:2] == ["signature", "failures"]
    assert len(tfmemlens.fleet.incidents("OOM when allocating tensor with shape[8,256] and type float")) == 1
    with pytest.raises(AttributeError):
        tfmemlens.fleet.nothing  # noqa: B018


def test_a_folder_in_a_storage_answers_as_a_local_one(tmp_path: Path) -> None:
    fsspec, pandas = pytest.importorskip("fsspec"), pytest.importorskip("pandas")
    rows = [failure(f"{n}.log", job=f"j{n % 3}", time=at(-n)) for n in range(5)]
    folder = write(tmp_path / "d", rows, [log(row["source"], at(-9), row["time"]) for row in rows], files=2)
    fsspec.filesystem("memory").put(folder, "/answers", recursive=True)
    try:
        pandas.testing.assert_frame_equal(answers.top("memory://answers"), answers.top(folder))
        with pytest.raises(UnreadableInput, match="no folder that a scan wrote"):
            answers.top("memory://nowhere")
    finally:
        fsspec.filesystem("memory").rm("/answers", recursive=True)


@pytest.mark.parametrize("is_local", [True, False])
def test_a_commit_on_its_way_counts_whole(is_local: bool, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    rows = [failure(f"{n}.log", job=f"j{n}", time=at(-n)) for n in range(6)]
    folder = Path(write(tmp_path / "d", rows, [log(row["source"], row["time"]) for row in rows], files=2))
    work = "_staging/commit-x"
    moves = []
    for table in ("incidents", "inputs"):
        (folder / work / table).mkdir(parents=True)
        (folder / table / "1.parquet").rename(folder / work / table / "1.parquet")
        moves.append((f"{work}/{table}/1.parquet", f"{table}/1.parquet"))
    (folder / "_commits").mkdir()
    record = {"moves": moves, "removals": [], "staged": []}
    (folder / "_commits" / "x.pending.json").write_text(json.dumps(record))
    if is_local:
        assert len(answers.top(folder, by="job")) == 6
        assert not list(folder.glob("_commits/*.pending.json")), "what a killed scan has left is finished"
        return
    fsspec.filesystem("memory").put(str(folder), "/on-its-way", recursive=True)
    try:
        assert len(answers.top("memory://on-its-way", by="job")) == 6
    finally:
        fsspec.filesystem("memory").rm("/on-its-way", recursive=True)
