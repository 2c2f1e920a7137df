"""What a log says was free: when the framework started, and when a library of CUDA's did not."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

_HANDLE = "E cuda_dnn.cc:534] Could not create cudnn handle: CUDNN_STATUS_{status}\n"
_FREE = "E cuda_dnn.cc:538] Memory usage: {free} bytes free, 8000000000 bytes total.\n"


def _explained(status: str, free: int) -> Report:
    return pipeline.explain("jax: 0.5.2\n" + _HANDLE.format(status=status) + _FREE.format(free=free))


def test_a_library_that_fails_with_memory_free_lacks_no_memory() -> None:
    report = _explained("INTERNAL_ERROR", 7_000_000_000)
    assert "6.52 GiB of 7.45 GiB were free (line 3)" in report.verdict
    assert "no memory was lacking" in report.verdict
    assert report.actions[0].remedy.slug == "matching-driver"
    assert "see-device-users" not in [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("status", "free"),
    [("INTERNAL_ERROR", 100_000_000), ("ALLOC_FAILED", 7_000_000_000), ("INTERNAL_ERROR", 9_000_000_000)],
    ids=["little was free", "it says itself that it got none", "more than there is"],
)
def test_else_it_most_likely_found_no_room(status: str, free: int) -> None:
    report = _explained(status, free)
    assert "no memory was lacking" not in report.verdict
    assert report.actions[0].remedy.slug == "growth"


@pytest.mark.parametrize(("free", "proven"), [(2_000_000_000, False), (900_000_000, True)])
def test_with_room_for_a_handle_memory_is_not_proven(free: int, proven: bool) -> None:
    report = _explained("INTERNAL_ERROR", free)
    assert ("not proven" not in report.verdict) is proven
    assert ("most likely the library found no memory" in report.verdict) is proven
    told = [action.remedy.text for action in report.actions]
    assert told[0].startswith("let JAX take memory" if proven else "see which it is: let JAX take memory")


_POST = """Training on the shared machine fails with an OOM error.
2019-01-04 06:53:28: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1411] Found device 0 with properties:
name: Tesla P40 major: 6 minor: 1 memoryClockRate(GHz): 1.531
totalMemory: 23.88GiB freeMemory: {free}
How can I solve this?
"""


def test_a_gpu_that_was_full_before_the_start_is_told_of_words() -> None:
    report = pipeline.explain(_POST.format(free="522.88MiB"))
    assert "about 522.88 MiB of about 23.88 GiB were free" in report.verdict
    assert "(line 4)" in report.verdict
    assert report.actions[0].remedy.slug == "see-device-users"
    assert "smaller-batch" not in [action.remedy.slug for action in report.actions]


def test_a_gpu_that_was_free_is_not() -> None:
    report = pipeline.explain(_POST.format(free="23.10GiB"))
    assert "were free" not in report.verdict
    assert "smaller-batch" in [action.remedy.slug for action in report.actions]
