"""A title that names a prediction beside a lack of memory tells of no repetition; an evaluation that runs
beside a training tells who holds the device.
"""

from __future__ import annotations

from tests.findings.pages import explained

ONCE = (
    "# Running into OOM during inference\n\n"
    "We tried to predict on a long video. After about 20 minutes it fails with an out of memory error.\n"
)
TINY = (
    "W tensorflow/core/framework/op_kernel.cc:1767] OP_REQUIRES failed at cwise_ops_common.h:312 : Resource"
    " exhausted: OOM when allocating tensor with shape[3,3,64,64] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def words(text: str) -> str:
    report = explained(text)
    remedies = [each.text for found in report.findings for each in found.remedies]
    return " ".join([report.verdict, *remedies])


def test_one_inference_that_fails_is_not_many_calls() -> None:
    text = words(ONCE)
    assert "again and again" not in text
    assert "batch of its own, no larger than that of the training" not in text


def test_a_title_that_tells_of_growth_still_names_the_calls() -> None:
    grows = "# Memory leak during inference\n\nMemory keeps growing until the process is killed.\n"
    assert "again and again" in words(grows)


def test_an_evaluation_beside_the_training_is_moved_away() -> None:
    told = "The evaluation cannot run at the same time, it always ends in OOM:\n\n"
    text = words(told + TINY)
    assert "several processes on one GPU" in text
    assert "evaluate from a checkpoint" in text


def test_an_evaluation_of_two_things_at_a_time_is_no_second_process() -> None:
    told = "The evaluation metrics for both heads run at the same time for each batch:\n\n"
    assert "several processes" not in words(told + TINY)
