"""What follows a refusal or a warning: a later stage, another error, an end in the title."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.readers.oom.going_on import logs_on

REFUSED = (
    "E tensorflow/stream_executor/cuda/cuda_driver.cc:924] failed to allocate 9.00G (9663676416 bytes) from"
    " device: CUDA_ERROR_OUT_OF_MEMORY\n"
)
SERVES = (
    "I tensorflow/compiler/xla/service/service.cc:180] XLA service executing computations on platform CUDA\n"
)
RESTORES = "INFO:tensorflow:Restoring parameters from run/model.ckpt-7\n"


@pytest.mark.parametrize(
    ("text", "origin", "goes_on"),
    [
        ("XLA service executing computations", "tensorflow/compiler/xla/service/service.cc", True),
        ("Successfully opened dynamic library libcublas", "stream_executor/dso_loader.cc", True),
        ("failed to load libcublas", "stream_executor/dso_loader.cc", False),
        ("Created TensorFlow device", "common_runtime/gpu/gpu_device.cc", False),
        ("Restoring parameters from run/model.ckpt-7", "", True),
        ("I tried Restoring parameters from it", "", False),
        ("Finished evaluation at 10:00", "", True),
    ],
)
def test_what_a_later_stage_logs(text: str, origin: str, goes_on: bool) -> None:
    assert logs_on(text, origin) is goes_on


@pytest.mark.parametrize("later", [SERVES, RESTORES])
def test_a_refusal_that_a_later_stage_follows_is_no_failure(later: str) -> None:
    assert explained(REFUSED + later).verdict.startswith("No failure: the driver refused the pool 9.00 GiB")
    assert "No failure" not in explained(later + REFUSED).verdict


def test_a_later_stage_proves_nothing_where_words_tell_that_memory_ran_out() -> None:
    text = "My GPU runs out of memory in this training.\n" + REFUSED + SERVES
    assert "No failure" not in explained(text).verdict


def test_a_refusal_beside_a_run_that_stands_still() -> None:
    verdict = explained("The training hangs at the first evaluation.\n" + REFUSED + RESTORES).verdict
    assert (
        verdict.startswith("Not what failed")
        and "stands still (line 1) most likely has another reason" in verdict
    )


def test_a_refusal_beside_an_end_that_is_not_shown() -> None:
    report = explained("My script crashes each time.\n" + REFUSED + RESTORES)
    assert "line 1 tells of an end, and its message is not in this text" in report.verdict
    assert report.actions[0].remedy.slug == "read-the-log"


ASKS = "W bfc_allocator.cc:211] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.11GiB. \n"
NO_FAILURE = "{}The caller indicates that this is not a failure, but may mean that there could be gains.\n"


@pytest.mark.parametrize("between", ["", "\n"])
def test_a_warning_on_two_lines_is_one(between: str) -> None:
    verdict = explained(ASKS + NO_FAILURE.format(between)).verdict
    assert verdict.startswith("1 warning that an allocation failed harmlessly")
    beside = explained(ASKS + NO_FAILURE.format(between) + "KeyError: 'bird'\n").verdict
    assert "ended in an error of Python: `KeyError: 'bird'`" in beside


def test_a_dump_is_no_warning() -> None:
    rows = "Limit:  4000000000\nInUse:  3990000000\n"
    assert "harmlessly" not in explained(ASKS + "Stats:\n" + rows + NO_FAILURE.format("")).verdict


LARGE = "tcmalloc: large alloc 3784507392 bytes == 0x9e2c000 @  0x7f72d1e97001 0x7f72cf9fb765\n"


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("# Error while running on a cluster", True),
        ("An exception on my own data", True),
        ("How do I silence the large alloc error?", False),
        ("A question about words", False),
    ],
)
def test_a_title_that_tells_of_an_error(title: str, told: bool) -> None:
    verdict = explained(f"{title}\n\n{LARGE}").verdict
    assert ("No message of a failure is in this text, of which line 1 tells" in verdict) is told
    later = explained(f"A question\n\nanother line on an error\n{LARGE}").verdict
    assert "of which line" not in later
