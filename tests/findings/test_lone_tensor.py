"""What half the batch saves where the failed tensor is all that is known."""

from __future__ import annotations

from tests.findings.logs import dump, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Remedy


def smaller_batch(text: str) -> Remedy | None:
    actions = pipeline.explain(text).actions
    return next((action.remedy for action in actions if action.remedy.slug == "smaller-batch"), None)


def test_half_the_batch_halves_the_tensor_that_failed() -> None:
    """As words: a figure beside them would read as all that is saved."""
    remedy = smaller_batch(oom("64,256,256,64"))
    assert remedy and remedy.saves_bytes is None
    assert remedy.text == (
        "halve the batch (64 -> 32): half of this tensor is 512.00 MiB, and other activations halve, too"
    )


def test_an_odd_batch_is_halved_downwards() -> None:
    remedy = smaller_batch(oom("5,512,512,64"))
    assert remedy and "(5 -> 2)" in remedy.text
    assert "this tensor takes 192.00 MiB less" in remedy.text


def test_a_batch_that_is_not_the_first_dimension_tells_no_bytes() -> None:
    remedy = smaller_batch("batch_size = 16\n" + oom("512,256,256,8"))
    assert remedy and "16 -> 8" in remedy.text and remedy.saves_bytes is None


def test_what_else_is_in_use_leaves_the_figure_out() -> None:
    """The tensor's half would read as too little where the log says how much was missing."""
    remedy = smaller_batch(dump(1024, 8192, 8000) + oom("64,256,256,64"))
    assert remedy and remedy.saves_bytes is None
