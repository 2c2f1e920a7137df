"""`__LOG_MEMORY__` logs against the allocator's own peak; steps, order without a clock, damage, malloc."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.findings.logs import dump, oom
from tfmemlens import pipeline
from tfmemlens.errors import UsageError
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Hints
from tfmemlens.model.timeline import BaselineSource, CurveSource
from tfmemlens.readers.gathering import traced_steps
from tfmemlens.renderers.terminal import report as terminal
from tfmemlens.renderers.view import View

ALL = sorted((SAMPLES / "log_memory").glob("*.log*"))
LOGS = [log for log in ALL if "function" not in log.name]
LENET = SAMPLES / "log_memory" / "1.15-lenet.log.gz"
RACED = {"2.11-lenet": 192}
"""Bytes by which threads that write their lines late miss the peak."""


def text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


@pytest.mark.parametrize("log", ALL, ids=lambda path: path.name.split(".log")[0])
def test_the_peak_is_the_allocators_own_to_the_byte(log: Path) -> None:
    stem = log.name.split(".log")[0]
    truth = json.loads(log.with_name(f"{stem}.truth.json").read_text(encoding="utf-8"))
    (timeline,) = pipeline.capture(log).timelines
    assert timeline.peak_bytes == truth["max_in_use_bytes"] - RACED.get(stem, 0)
    assert timeline.curve_source is CurveSource.LOG
    assert timeline.baseline_source is BaselineSource.LOG


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name.split(".log")[0])
def test_variables_and_slots_stand_before_the_step_under_their_names(log: Path) -> None:
    (timeline,) = pipeline.capture(log).timelines
    assert {"conv1/weights", "fc1/weights", "fc1/weights/Adam", "fc1/weights/Adam_1"} <= set(
        timeline.standing.node
    )
    moment = pipeline.explain(log).case.moments[0]
    assert moment.attribution.table.total_bytes == timeline.peak_bytes
    rows = zip(moment.attribution.table, moment.attribution.owners, strict=True)
    weights = sum(
        row.requested_bytes or 0
        for row, owner in rows
        if owner.kind is Kind.PARAMETER and row.start_micros is None
    )
    assert weights == 4 * (832 + 51264 + 3212288 + 10250)


def test_each_step_can_be_asked_for() -> None:
    peaks = [pipeline.capture(LENET, Hints(step=step)).timelines[0].peak_bytes for step in (1, 2, 3)]
    assert max(peaks) == pipeline.capture(LENET).timelines[0].peak_bytes == peaks[1]
    assert "3 steps; this is step 2, which has the highest peak" in pipeline.capture(LENET).notes[0].text
    with pytest.raises(UsageError, match="no step 9"):
        pipeline.capture(LENET, Hints(step=9))


def test_without_stamps_the_lines_are_the_axis(tmp_path: Path) -> None:
    file = tmp_path / "bare.log"
    file.write_text(
        re.sub(r"^.*?(?=__LOG_MEMORY__)", "", text_of(LENET), flags=re.MULTILINE), encoding="utf-8"
    )
    report = pipeline.explain(file)
    timeline = report.case.moments[0].timeline
    assert timeline
    assert timeline.ordinal
    assert timeline.peak_bytes == pipeline.capture(LENET).timelines[0].peak_bytes
    page = terminal.render(report)
    assert "at line" in page
    assert " ms" not in page


@pytest.mark.parametrize("share", [0.6, 0.85, 0.99])
def test_a_cut_log_shows_what_stands_before_the_cut(tmp_path: Path, share: float) -> None:
    text = text_of(LENET)
    file = tmp_path / "cut.log"
    file.write_text(text[: int(share * len(text))], encoding="utf-8")
    (timeline,) = pipeline.capture(file).timelines
    assert 0 < timeline.peak_bytes <= pipeline.capture(LENET).timelines[0].peak_bytes


def test_a_log_that_began_late_says_what_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "late.log"
    file.write_text(text_of(LENET).split("MemoryLogStep { step_id: 2", 1)[1], encoding="utf-8")
    found = pipeline.capture(file)
    assert any("begins late: its first step is 3" in note.text for note in found.notes)
    assert found.timelines[0].baseline_source is BaselineSource.STANDING


def test_malloc_gives_no_ids_and_this_is_said(tmp_path: Path) -> None:
    lines = [line for line in text_of(LENET).split("\n") if "bfc_cpu" not in line]
    file = tmp_path / "malloc.log"
    file.write_text("\n".join(lines), encoding="utf-8")
    found = pipeline.capture(file)
    assert not found.timelines
    assert any("malloc gives no ids" in note.text for note in found.notes)


def test_a_failure_in_the_same_log_is_told_too(tmp_path: Path) -> None:
    file = tmp_path / "both.log"
    file.write_text(
        text_of(LENET) + (SAMPLES / "oom_log" / "1.15-unet-report.txt").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    found = pipeline.capture(file)
    assert found.incidents
    assert found.timelines
    assert found.source.formats[:2] == ("log-memory", "oom-sentence")


def test_a_function_has_no_steps_but_all_its_allocations(tmp_path: Path) -> None:
    sample = SAMPLES / "log_memory" / "2.21-function.log"
    found = pipeline.capture(sample)
    assert not any("steps" in note.text for note in found.notes)
    kinds = {
        str(group.name): group.total_bytes
        for group in pipeline.report(found).case.moments[0].attribution.by("kind")
    }
    assert kinds["parameter"] >= 4 * (256 * 512 + 512 * 16)
    assert kinds["input"] == 65536
    assert [step.tag for step in traced_steps.find(sample)] == ["2.21-function"]


@pytest.mark.parametrize("told", [oom("64,256,256,2"), dump(32, 400, 300)], ids=("sentence", "dump"))
def test_a_failure_at_the_end_is_told_too(told: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(text_of(LENET) + told, encoding="utf-8")
    found = pipeline.capture(tmp_path / "train.log")
    assert len(found.timelines) == len(found.incidents) == 1


def test_a_figure_of_hundreds_of_digits_is_none(tmp_path: Path) -> None:
    """From a mutated log: what was lost to rounding was a number too large to print."""
    text = gzip.decompress((SAMPLES / "log_memory" / "2.21-lenet.log.gz").read_bytes()).decode()
    damaged = re.sub(r"requested_bytes: \d+", f"requested_bytes: {'9' * 400}", text, count=3)
    assert damaged != text
    (tmp_path / "train.log").write_text(damaged, encoding="utf-8")
    assert terminal.render(pipeline.explain(tmp_path / "train.log"), View(full=True))
