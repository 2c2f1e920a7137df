"""Counts of PyTorch/XLA's metrics, tracebacks without their end, and what ended a failure of another kind."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

CRASH = "XlaRuntimeError: INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"


def counts(compiled: int, ran: int) -> str:
    return f"Metric: XrtCompile\n  TotalSamples: {compiled}\nMetric: XrtExecute\n  TotalSamples: {ran}\n"


@pytest.mark.parametrize(
    ("compiled", "ran", "anew"), [(172, 172, True), (109, 754, False), (5, 6, False), (8, 15, True)]
)
def test_compilations_are_set_against_runs(compiled: int, ran: int, anew: bool) -> None:
    verdict = explained(f"torch_xla is slow\n{counts(compiled, ran)}").verdict
    assert verdict.startswith(f"No failure: XLA counts {compiled} compilations of {ran} runs")
    assert ("compiled anew from step to step" in verdict) is anew


def test_compilations_that_grow_between_reports_are_told() -> None:
    report = "Metric: CompileTime\n  TotalSamples: {}\n"
    verdict = explained(f"torch_xla\n{report.format(12)}...\n{report.format(14)}").verdict
    assert "12 compilations in one report and 14 in a later one" in verdict
    assert "compilations" not in explained(f"torch_xla\n{report.format(12)}").verdict
    assert "compilations" not in explained("torch_xla\nMetric: InboundData\n  TotalSamples: 7\n").verdict


def test_a_traceback_without_its_end_is_told_as_that() -> None:
    frames = (
        "All models work but the largest\nTraceback (most recent call last):\n"
        '  File "app.py", line 60, in <module>\n    model = Model(name)\n'
        '  File "/app/model.py", line 70, in __init__\n    self.params = replicate(params)\n'
        '  File "/usr/lib/python3.8/dist-packages/flax/jax_utils.py", line 56, in replicate\n'
    )
    verdict = explained(frames).verdict
    assert "a traceback leads to app.py:60, and to model.py:70 in `__init__`" in verdict
    assert verdict.endswith("and its end, which names the error, is not in the text.")
    ended = explained(frames + "    return f(x)\nTypeError: f() takes no such argument\n").verdict
    assert "its end" not in ended and "TypeError" in ended


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ("It was fixed by CUDA 11.8.", True),
        ("A different model issue was resolved by CUDA 11.8.", False),
        ("Can it be fixed by CUDA 11.8?", False),
    ],
)
def test_what_ended_a_crash_comes_first(said: str, ended: bool) -> None:
    page = explained(f"jax crashes\n{CRASH}\n\n{said}\n")
    assert ("line 4 says what ended it" in page.verdict) is ended
    assert (page.actions[0].remedy.slug == "what-ended-it") is ended


@pytest.mark.parametrize(
    ("said", "cause"), [("which causes OOM on several chips", True), ("which causes delays", False)]
)
def test_what_causes_it_is_quoted(said: str, cause: bool) -> None:
    text = f"jax\nWe run out of memory. Tracing puts the whole model on one shard, {said}.\n"
    assert ("names the cause" in explained(text).verdict) is cause
    assert offered(text)
