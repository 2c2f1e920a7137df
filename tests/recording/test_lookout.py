"""When a process is taken for one whose allocator waits, and what is noted then."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tfmemlens.recording.inside import lookout
from tfmemlens.recording.inside import recorder as module
from tfmemlens.recording.inside.lookout import Lookout
from tfmemlens.recording.inside.recorder import Recorder


def looking(folder: Path) -> Lookout:
    return Lookout({"TF_BFC_MEMORY_DUMP": str(folder / "bfc")}, lambda: None)


def test_a_dump_that_is_new_tells_of_a_wait(tmp_path: Path) -> None:
    (tmp_path / "bfc_old.1").touch()
    here = looking(tmp_path)
    assert here.waits()
    assert not here.waits()
    (tmp_path / "another.1").touch()
    assert not here.waits()
    (tmp_path / "bfc_new.2").touch()
    assert here.waits()
    assert not here.waits()


def test_without_a_dump_a_graph_that_computes_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookout, "runs_a_graph", lambda: True)
    clocks = {"cpu": 0.0, "wall": 0.0}
    monkeypatch.setattr(time, "process_time", lambda: clocks["cpu"])
    monkeypatch.setattr(time, "perf_counter", lambda: clocks["wall"])
    here = Lookout({}, lambda: None)

    def after(computed: float) -> bool:
        clocks["cpu"] += computed
        clocks["wall"] += 1
        return here.waits()

    assert [after(each) for each in (0.5, 0.01, 0.01, 0.01, 0.9, 0.01)] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    monkeypatch.setattr(lookout, "runs_a_graph", lambda: False)
    assert [after(0) for _ in range(3)] == [False, False, False]


def test_what_waits_is_noted_and_a_failure_told_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(str(tmp_path), {}, None)
    told: list[Any] = []
    monkeypatch.setattr(recorder, "describe_models", lambda **kwargs: told.append(kwargs))
    recorder.waiting()
    assert told == [{}]
    assert (tmp_path / "recorder.json").read_text()
    recorder.told = True
    recorder.waiting()
    assert told == [{}]


def test_few_first_steps_are_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(str(tmp_path), {}, None)
    told: list[int] = []
    monkeypatch.setattr(recorder, "describe_models", lambda: told.append(1))
    now = [100.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    for passed in (0, 1, 2, 2, 2, 2):
        now[0] += passed
        recorder.foresee()
    assert len(told) == 3
    recorder.first_step_done()
    assert len(told) == 4


def test_a_failure_while_owners_are_noted_is_told_in_the_same_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Describing a model may run code of the user's that prints a failure for memory."""
    recorder = Recorder(str(tmp_path), {}, None)
    monkeypatch.setattr(recorder, "describe_models", lambda **_: recorder.failed(MemoryError()))
    noting = threading.Thread(target=recorder.waiting, daemon=True)
    noting.start()
    noting.join(20)
    assert not noting.is_alive() and recorder.told


def test_a_failure_waits_for_no_thread_that_a_fork_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_WAIT", 0.01)
    recorder = Recorder(str(tmp_path), {}, None)
    left = threading.Thread(target=recorder._gathering.acquire)
    left.start()
    left.join()
    failing = threading.Thread(target=recorder.failed, args=(MemoryError(),), daemon=True)
    failing.start()
    failing.join(20)
    assert not failing.is_alive() and recorder.told
