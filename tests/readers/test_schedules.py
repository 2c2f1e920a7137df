"""Numbers of steps that tell of no failure: rows of logs, and when something is saved or printed."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.readers.oom.schedules import only_counts_steps

FAILED = (
    "2022-01-02 03:04:05.6: W tensorflow/core/common_runtime/bfc_allocator.cc:457] Allocator (GPU_0_bfc) ran"
    " out of memory trying to allocate 1.50GiB (rounded to 1610612736)requested by op Conv2D\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "I0303 10:11:12.131415 140 draw.py:20] Rendering pictures after 20000 training steps.",
        "INFO:tensorflow:Wrote a summary after 100 steps",
        "A checkpoint is saved after 500 steps",
        "The learning rate decays after 20 epochs",
    ],
)
def test_a_schedule_is_no_run_that_went_well(text: str) -> None:
    assert only_counts_steps(text)
    assert "went well" not in pipeline.explain(f"{text}\n{FAILED}").verdict


@pytest.mark.parametrize(
    "text", ["It crashes after about 3000 steps, while it saves a checkpoint", "it dies after 40 iterations"]
)
def test_a_failure_after_many_steps_is_one(text: str) -> None:
    assert not only_counts_steps(text)
    assert "went well" in pipeline.explain(f"{text}\n{FAILED}").verdict
