"""A driver that refuses unified memory: what the line alone tells, and what it does not."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

REFUSED = (
    "2024-05-01 10:00:00.0: E external/xla/xla/stream_executor/cuda/cuda_driver.cc:771] failed to alloc"
    " 2147483648 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)


@pytest.mark.parametrize(
    ("where", "advice"),
    [("On Windows 11 with WSL2:\n", "switch unified memory off"), ("", "see what is free beside it")],
)
def test_the_line_alone_is_no_failure_yet(where: str, advice: str) -> None:
    told = pipeline.explain(f"import jax\n{where}{REFUSED}")
    assert told.verdict.startswith("The GPU's driver refused 2.00 GiB of unified memory")
    assert "only an error below" in told.verdict
    texts = [remedy.text for finding in told.findings for remedy in finding.remedies]
    assert texts[0].startswith(advice) and not any("prefetch" in text for text in texts)


def test_pinned_memory_that_is_refused_is_host_ram() -> None:
    told = pipeline.explain(REFUSED.replace("unified memory; result", "on host"))
    assert "unified" not in told.verdict
