"""Of two batches in one line the one that works, and MaxText that decodes."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.readers.oom.switches import settings


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("batch 32/core; batch 16 -> works but val f1 gets worse", "16"),
        ("with batch size 64 it dies; batch size 8 works fine", "8"),
        ("batch 16 works", "16"),
    ],
)
def test_the_batch_that_works(line: str, works: str) -> None:
    assert dict(settings(line)).get("working_batch") == works


DECODING = (
    "Serving Gemma with JetStream on v5e-8\n\nper_device_batch_size=96 max_target_length=2048{more}\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve"
    " 2.31G at the bottom of memory. That was not possible. There are 1.22G free, 0B reserved, and 1.22G"
    " reservable.\n"
)


def test_what_decodes_has_no_backward_pass() -> None:
    report = pipeline.explain(DECODING.format(more=" max_prefill_predict_length=1024"))
    assert "a cache of keys and values for `per_device_batch_size`" in report.verdict
    assert not any("remat_policy" in action.remedy.text for action in report.actions)


def test_what_trains_has_one() -> None:
    report = pipeline.explain(DECODING.format(more="").replace("Serving", "Training"))
    assert "a cache of keys and values" not in report.verdict
