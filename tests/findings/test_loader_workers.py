"""PyTorch's DataLoader tells of a worker that was ended, and not why."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

EXITED = "RuntimeError: DataLoader worker (pid(s) 1235) exited unexpectedly"
KILLED = "RuntimeError: DataLoader worker (pid 1235) is killed by signal: Killed."
BUS = (
    "RuntimeError: DataLoader worker (pid 1235) is killed by signal: Bus error. It is possible that"
    " dataloader's workers are out of shared memory."
)


def read(text: str) -> Report:
    return pipeline.explain(f"Hello,\n{text}\n")


def slugs(text: str) -> list[str]:
    return [action.remedy.slug for action in read(text).actions]


@pytest.mark.parametrize("message", [EXITED, KILLED])
@pytest.mark.parametrize(
    "uses", ["torch_xla on a TPU, xmp.spawn(f, nprocs=8)", "a flax training, import jax"]
)
def test_a_worker_that_was_ended_means_host_ram(message: str, uses: str) -> None:
    report = read(f"I run {uses}.\n{message}")
    assert "most likely the machine or its container had no host RAM left" in report.verdict
    assert report.actions[0].remedy.slug == "fewer-loader-workers"
    assert "smaller-batch" not in [action.remedy.slug for action in report.actions]
    assert ("each of the processes" in report.actions[0].remedy.text) is ("spawn" in uses)


def test_a_bus_error_is_of_shared_memory() -> None:
    assert "shared memory between worker processes" in read(f"import jax\n{BUS}").verdict


def test_neither_of_two_batches_goes_well() -> None:
    told = "It fails with batch size 8: neither works."
    settings = pipeline.capture(f"import jax\n{told}\nKilled\n").surroundings
    assert settings.setting("working_batch") is None
