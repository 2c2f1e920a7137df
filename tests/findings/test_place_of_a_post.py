"""Where a cut traceback of a post leads, and what its program does already."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

HEAD = "# OOM with jax and micro-batches\n\nTraceback (most recent call last):\n"
FRAME = '  File "/home/u/t/{}", line {}, in {}\n    {}\n'
MAIN = FRAME.format("train.py", 80, "main", "run(args)") + FRAME.format("train.py", 49, "run", "go(step)")
DEEP = FRAME.format("parts.py", 8, "compile", "return f.lower(*a).compile()")


def explained(*frames: str) -> Report:
    return pipeline.explain(HEAD + "".join(frames))


@pytest.mark.parametrize(
    ("function", "evaluates"),
    [("compile_eval", True), ("evaluate", True), ("compile_step", False), ("retrieval_step", False)],
)
def test_the_evaluation_goes_before_what_it_calls(function: str, evaluates: bool) -> None:
    report = explained(MAIN, FRAME.format("trainer.py", 11, function, "self.compile(step)"), DEEP)
    last = f"trainer.py:11 in `{function}`" if evaluates else "parts.py:8 in `compile`"
    assert f"leads to train.py:49 in `run`, and to {last}" in report.verdict
    assert (", an evaluation" in report.verdict) is evaluates
    assert ("smaller-evaluation-batch" in [each.remedy.slug for each in report.actions]) is evaluates


def test_a_file_that_the_traceback_stays_in_is_named_once() -> None:
    assert "leads to train.py:49 in `run` (line" in explained(MAIN).verdict


LONG = "# OOM on a TPU with jax at long sequence lengths\n\nMy transformer runs out of memory. {}\n"


@pytest.mark.parametrize(
    ("says", "done"),
    [
        ("I train with flash attention.", True),
        ("It calls `flash_attention(q, k, v)`.", True),
        ("The attention is my own.", False),
        ("Would flash attention help?", False),
    ],
)
def test_attention_without_scores_is_not_advised_to_who_has_it(says: str, done: bool) -> None:
    report = pipeline.explain(LONG.format(says))
    assert ("fused-attention" in [each.remedy.slug for each in report.actions]) is not done
    assert ("the square of the length" in report.verdict) is not done


@pytest.mark.parametrize(
    ("says", "began"),
    [
        ("With `0.4.35` release, the kernel hits a compilation OOM.", True),
        ("Since jax 0.4.14 it runs out of memory.", True),
        ("With jax 0.4.35 it runs out of memory.", False),
    ],
)
def test_another_release_of_jax(says: str, began: bool) -> None:
    report = pipeline.explain(f"# jax on a GPU\n\n{says}\n")
    assert ("it began with another release" in report.verdict) is began
    assert (report.actions[0].remedy.slug == "newer-release") is began
