"""`run.json`: what the kernel says of a program that can no longer say it, and what it does not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tfmemlens import pipeline, readers
from tfmemlens.errors import UnreadableInput
from tfmemlens.findings.support.kills import surely_for_memory, was_killed
from tfmemlens.model.incident import RequestKind
from tfmemlens.readers.formats import run_record
from tfmemlens.readers.gathering import inputs, opening
from tfmemlens.use_cases import run

GIB = 1 << 30


def record(folder: Path, ending: str, status: int = 137, limit: int | None = None, **more: Any) -> Path:
    told = {
        run_record.KEY: 1,
        "command": ["python", "train.py"],
        "seconds": 12.5,
        "exit_status": status,
        "ending": ending,
        "peak_rss_bytes": 3 * GIB,
        "memory_group": {"oom_kills": 1, "limit_bytes": limit},
        **more,
    }
    file = folder / "run.json"
    file.write_text(json.dumps(told, indent=1))
    return file


def test_a_kill_that_the_kernel_counted_is_sure(tmp_path: Path) -> None:
    report = pipeline.explain(record(tmp_path, f"{run_record.KILLED} the program", limit=4 * GIB))
    (moment,) = report.case.moments
    assert was_killed(moment)
    assert surely_for_memory(moment)
    assert moment.balance.limit
    assert moment.balance.limit.bytes == 4 * GIB
    assert moment.balance.in_use
    assert moment.balance.in_use.bytes == 3 * GIB
    assert report.verdict.startswith("Host RAM (not GPU memory) ran out")


def test_a_kill_that_nobody_counts_is_likely(tmp_path: Path) -> None:
    (moment,) = pipeline.explain(record(tmp_path, "killed by SIGKILL", memory_group=None)).case.moments
    assert was_killed(moment)
    assert not surely_for_memory(moment)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("killed by SIGKILL; not by the kernel for memory", 137),
        ("killed by SIGTERM", 143),
        ("exit status 1", 1),
        ("exit status 0", 0),
    ],
)
def test_any_other_end_is_no_failure_for_memory(tmp_path: Path, ending: str, status: int) -> None:
    capture = readers.read(inputs.resolve(record(tmp_path, ending, status)))
    assert not capture.incidents
    assert ending in capture.notes[0].text


def test_a_worker_that_was_killed_is_not_the_whole_program(tmp_path: Path) -> None:
    ending = f"exit status 1, after {run_record.KILLED} 1 process of its memory group"
    capture = readers.read(inputs.resolve(record(tmp_path, ending, 1, limit=4 * GIB)))
    (incident,) = capture.incidents
    assert incident.request.kind is RequestKind.HOST
    assert incident.state.in_use is None, "the peak is that of another process"
    assert incident.state.limit is None, "beside nothing in use it would look free"
    assert capture.notes[1].text == "the kernel limits its memory group to 4.00 GiB"


def test_a_peak_above_the_limit_is_not_held_against_it(tmp_path: Path) -> None:
    file = record(tmp_path, f"{run_record.KILLED} the program", limit=2 * GIB)
    (incident,) = readers.read(inputs.resolve(file)).incidents
    assert incident.state.in_use is None


def test_a_bundle_is_read_whole_and_its_page_is_passed_over(tmp_path: Path) -> None:
    record(tmp_path, "exit status 1", 1)
    (tmp_path / "log.txt").write_text(
        "OOM when allocating tensor with shape[64,512] and type float on GPU:0\n"
    )
    (tmp_path / "report.html").write_text("OOM when allocating tensor with shape[1,2] and type float\n")
    capture = readers.read(inputs.resolve(tmp_path))
    (incident,) = capture.incidents
    assert incident.request.shape == (64, 512)
    assert [note.text for note in capture.notes if "logs only" in note.text] == []
    assert any("exit status 1" in note.text for note in capture.notes)


def test_a_cut_record_says_so(tmp_path: Path) -> None:
    file = record(tmp_path, "exit status 1")
    file.write_text(file.read_text()[:120])
    with pytest.raises(UnreadableInput, match="damaged"):
        readers.read(inputs.resolve(file))


def test_another_json_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"ending": "killed by SIGTERM", "tfmemlens_run": 1}')
    assert not any("the run:" in note.text for note in readers.read(inputs.resolve(tmp_path)).notes)


@pytest.mark.parametrize("space", [None, 3 * GIB])
def test_a_limit_of_the_address_space_is_told(tmp_path: Path, space: int | None) -> None:
    more = {} if space is None else {"address_space_bytes": space}
    opened = opening.open_input(inputs.Input(str(record(tmp_path, "exit status 1", **more))))
    with opened.file:
        capture = run_record.read(opened)
    notes = [each.text for each in capture.notes]
    assert capture.surroundings.address_space == space
    told = [each for each in notes if each.startswith("`ulimit -v` limits the address space")]
    assert len(told) == (space is not None) and all("to 3.00 GiB" in each for each in told)


def test_the_limit_that_a_program_inherits_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    for soft, kept in ((5 * GIB, {"address_space_bytes": 5 * GIB}), (resource.RLIM_INFINITY, {})):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert run._address_space() == kept
