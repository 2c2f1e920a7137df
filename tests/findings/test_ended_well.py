"""A program that ended with code 0 did not fail, and what each save leaves is named as the text names it."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered

REFUSED = (
    "2018-03-11 09:22:05.112233: E tensorflow/stream_executor/cuda/cuda_driver.cc:936] failed to allocate"
    " 3.00G (3221225472 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY\n"
)
KILLED = "10:12:02 Container was OOM killed by the kernel (exit 137)\n"


@pytest.mark.parametrize(
    "end", ["Process finished with exit code 0", "[Done] exited with code=0 in 81.2 seconds"]
)
def test_a_program_that_ended_with_code_0_did_not_fail(end: str) -> None:
    report = explained(f"{REFUSED}accuracy 0.97\n{end}\n")
    assert "that is no failure" in report.verdict and "(line 3)" in report.verdict
    assert not report.actions


@pytest.mark.parametrize(
    "text",
    [
        f"{REFUSED}accuracy 0.97\n",
        f"{REFUSED}Process finished with exit code 1\n",
        f"{REFUSED}Process finished with exit code 0xC0000005\n",
        f"Process finished with exit code 0\n{REFUSED}",
        f"{REFUSED}Traceback (most recent call last):\nRuntimeError: no\nProcess finished with exit code 0\n",
    ],
)
def test_without_that_line_behind_it_the_end_is_open(text: str) -> None:
    assert "that is no failure" not in explained(text).verdict


def test_what_each_save_leaves_is_not_looked_for_again() -> None:
    text = f"jax training leaks host RAM, about 12 GB at each checkpoint save\n{KILLED}"
    assert "line 1 says that something of each save of a checkpoint stays" in explained(text).verdict
    assert "let each save end before the next" in first(text)
    assert not {"find-what-grows", "bound-checkpoint"} & set(offered(text))


def test_a_save_that_needs_room_once_leaves_nothing() -> None:
    text = f"jax training is killed while a checkpoint is saved, host RAM is full\n{KILLED}"
    assert "something of each save" not in explained(text).verdict
