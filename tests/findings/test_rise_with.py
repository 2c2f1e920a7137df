"""Host RAM that rises with each save or evaluation, and kills that say what was done."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

KILL = "Memory cgroup out of memory: Killed process 31 (python3) total-vm:9kB, anon-rss:8kB, file-rss:0kB"


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(("a jax run on a TPU", *lines)) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def run(figures: list[float], events: list[str], unit: str = "used_gb=") -> tuple[str, ...]:
    """A log: each figure, and the event behind it."""
    lines = []
    for index, (figure, event) in enumerate(zip(figures, events, strict=True)):
        lines.append(f"logging_writer.py:48] [{index}] step={index}00, host_ram_{unit}{figure}, loss=0.1")
        if event:
            lines.append(f"trainer.py:9] {event}")
    return tuple(lines)


EVAL, SAVE = "Evaluating on the test split.", "Saving checkpoint 50"


@pytest.mark.parametrize(
    ("event", "word", "first"),
    [(EVAL, "each evaluation", "make-once"), (SAVE, "each save of a checkpoint", "one-checkpoint-at-a-time")],
)
def test_figures_rise_with_what_is_done(event: str, word: str, first: str) -> None:
    report = explained(
        *run([96, 97, 141, 142, 187, 187, 232], ["", event, "", event, "", event, ""]), "Killed"
    )
    assert f"rises with {word}" in report.verdict
    assert "about 41.91 GiB stay each time, and next to nothing is added between" in report.verdict
    assert slugs(report)[0] == first and "raise-container-limit" not in slugs(report)


@pytest.mark.parametrize(
    ("figures", "events"),
    [
        ([96, 120, 141, 165, 187, 210, 232], ["", SAVE, "", SAVE, "", SAVE, ""]),  # between them as well
        ([96, 97, 141, 142], ["", SAVE, "", ""]),  # once
        ([96, 97, 97, 98, 98, 98, 99], ["", SAVE, "", SAVE, "", SAVE, ""]),  # hardly
        ([96, 97, 141, 142, 187, 187, 232], [""] * 7),  # nothing is said to be done
    ],
)
def test_other_figures_blame_no_event(figures: list[float], events: list[str]) -> None:
    assert "rises with each" not in explained(*run(list(figures), list(events)), "Killed").verdict


def test_rows_of_a_table_are_figures() -> None:
    rows = ["100 train 118", "240 checkpoint begin 118", "246 checkpoint committed 171", "258 train 144"]
    rows += ["300 checkpoint begin 144", "306 checkpoint committed 198", "322 train 171"]
    rows += ["360 checkpoint begin 171", "366 checkpoint committed 224", " ...", "840 checkpoint begin 384"]
    report = explained(" step  event   worker rss (GiB)", *rows, KILL)
    assert "rises with each save of a checkpoint" in report.verdict and "26.50 GiB" in report.verdict


@pytest.mark.parametrize(
    "line",
    [
        "worker 3: 71220 Killed                  PYTHONPATH=. python -m train --cfg=a.py",
        "task 5 exited: Container was OOM killed by the kernel (exit 137)",
    ],
)
def test_more_words_of_a_kill(line: str) -> None:
    report = explained(line)
    assert "killed" in report.verdict and report.actions


def test_a_kill_while_a_constant_is_folded() -> None:
    report = explained("Constant folding an instruction is taking > 1s:", "Killed")
    assert "computing a large constant" in report.verdict and slugs(report) == ["pass-as-argument"]
    after = explained("Killed", "Constant folding an instruction is taking > 1s:")
    assert "pass-as-argument" not in slugs(after)


def test_a_kill_of_a_resumed_run_alone() -> None:
    told = "Resuming the run from a checkpoint gets OOM-killed every time, a fresh start trains for days."
    report = explained(told, "kubelet: trainer terminated: OOMKilled (exit code 137), limits.memory=940Gi")
    assert "when a run is resumed" in report.verdict and slugs(report)[0] == "restore-into-shapes"


def test_a_limit_is_raised_above_what_it_is() -> None:
    report = explained("kubelet: trainer terminated: OOMKilled (exit code 137), limits.memory=940Gi")
    assert "memory: 1128Gi" in next(a.remedy.code or "" for a in report.actions)


def test_no_input_pipeline_is_blamed_that_nothing_names() -> None:
    assert "tell-which" in slugs(explained("Killed")) and "smaller-pipeline" not in slugs(explained("Killed"))


def test_a_shells_word_is_no_rest_of_a_line() -> None:
    figure = "a.py:48] [5] step=500, host_ram_used_gb=187, loss=0.1"
    report = explained(figure, "t.py:9] Saving checkpoint at step 50 to gs://runs/abc", figure, "Killed")
    assert "killed from outside" in report.verdict


@pytest.mark.parametrize(
    "line",
    [
        "worker-3 step {} saved in 70.1s host_rss_gib={}",
        "07:11 ckpt {} written to gs://bucket/runs/a rss={}GiB",
    ],
)
def test_a_figure_at_each_save_alone_leaves_open_which_it_is(line: str) -> None:
    lines = [line.format(500 * at, 41.0 + 24 * at) for at in range(5)]
    report = explained(*lines, "Killed")
    assert "rises from one save of a checkpoint to the next" in report.verdict
    assert "about 24.00 GiB: either it leaves that, or the steps between do" in report.verdict
    assert slugs(report)[0] == "find-what-grows" and "one-checkpoint-at-a-time" in slugs(report)


def test_a_figure_that_stays_blames_no_save() -> None:
    report = explained(*(f"step {at}00 saved checkpoint, rss_gb=12.{at % 2}" for at in range(5)), "Killed")
    assert "save of a checkpoint" not in report.verdict
