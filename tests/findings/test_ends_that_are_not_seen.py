"""Warnings that end no run, beside an end whose message is not in the text."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

LARGE = (
    "2020-10-02 19:48:34.816657: W tensorflow/core/framework/cpu_allocator_impl.cc:81] Allocation of"
    " 130744320 exceeds 10% of free system memory.\n"
)
SOFT = (
    "W tensorflow/core/common_runtime/bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory trying to"
    " allocate 7.05GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may"
    " mean that there could be performance gains if more memory were available.\n"
)
CUT = """Traceback (most recent call last):
  File "/home/user/net/train.py", line 211, in <module>
    train(20, 4096)
  File "/home/user/net/train.py", line 158, in train
    model.fit(x=[text, im],
"""
STOPS = "The training stops before the last epoch.\n"


@pytest.mark.parametrize("warning", [LARGE, SOFT])
@pytest.mark.parametrize(
    ("end", "words"), [(CUT, "its end, which names the error"), (STOPS, "that it ended")]
)
def test_no_failure_is_denied_where_an_end_is_told(warning: str, end: str, words: str) -> None:
    report = explained(f"{warning}{end}" if end == CUT else f"{end}{warning}")
    assert "No failure" not in report.verdict
    assert words in report.verdict or "the program ended" in report.verdict
    assert report.actions


@pytest.mark.parametrize("warning", [LARGE, SOFT])
def test_a_warning_alone_is_no_failure(warning: str) -> None:
    assert "no failure" in explained(warning).verdict.lower()


def test_an_error_below_the_traceback_is_its_end() -> None:
    report = explained(f"{SOFT}{CUT}ValueError: Data cardinality is ambiguous\n")
    assert "is not in the text" not in report.verdict and "ValueError" in report.verdict


STATUS = "Exited with exit code 1.\n"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (f"{CUT}TypeError: Model has no dtype\n{STATUS}", "TypeError: Model has no dtype"),
        (STATUS, "Exited with exit code 1."),
        (f"ERROR: the licence server is gone\n{STATUS}", "ERROR: the licence server is gone"),
    ],
)
def test_a_status_alone_gives_way_to_an_error(text: str, end: str) -> None:
    assert f"`{end}`" in explained(text).verdict


TUNER = "Oversized model: 1364002 parameters -- skipping\n"


def test_a_tuner_that_refuses_models_lacks_no_memory() -> None:
    asked = "Before it ran out of memory, now it just quits.\n"
    refused = explained(f"{TUNER}RuntimeError: Too many consecutive oversized models.\n{asked}")
    assert refused.verdict.startswith("No lack of memory: Keras Tuner refused")
    assert "ran out" in explained(asked).verdict
