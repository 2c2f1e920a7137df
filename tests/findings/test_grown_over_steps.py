"""Host RAM that runs out late: what is looked at then, and what is no more to blame."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


@pytest.mark.parametrize(
    ("when", "late"),
    [("after about 2K - 3K steps", True), ("after roughly 4000 steps", True), ("at its start", False)],
)
def test_ram_that_runs_out_late_is_watched_at_each_step(when: str, late: bool) -> None:
    told = pipeline.explain(f"Our JAX training runs out of host memory {when}.\nRAM of 128 GB\n")
    texts = [remedy.text for finding in told.findings for remedy in finding.remedies]
    assert any("before and after each evaluation" in text for text in texts) is late
    assert any(text.startswith("hold less in RAM at once") for text in texts) is not late


def test_weights_are_not_to_blame_where_a_checkpoint_is_saved() -> None:
    text = "I get an out-of-memory error when saving a checkpoint with orbax.\nparams = 1e9  # 1B params\n"
    told = pipeline.explain(f"import jax\n{text}")
    assert "saved" in told.verdict and "most likely the weights" not in told.verdict
