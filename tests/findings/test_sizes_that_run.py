"""A batch above the one that fails runs, or no bytes were asked for: then memory is not what is short; and
which batches the text says fail.
"""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

EMPTY = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError:  Ran out of GPU memory when allocating"
    " {size} bytes for \n\t [[node {node} (defined at /home/u/train.py:40) ]]\n"
)
SHADER = (
    "TensorFlow.js 3.20.0, Chrome\nUncaught (in promise) Error: Failed to compile fragment shader.\n"
    "const ds = rows.batch(17);\n"
)


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def offered(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


def test_an_empty_part_of_a_batch_is_no_lack_of_memory() -> None:
    told = explained("model.fit(ratings.batch(4096))\n" + EMPTY.format(size=0, node="replica_1/loss/xent"))
    assert "where 0 bytes were asked for" in told.verdict
    assert "uneven last batch" in told.verdict
    assert told.actions[0].remedy.code == "ds = ds.batch(batch, drop_remainder=True)"
    assert not {"smaller-batch", "see-device-users"} & {each.remedy.slug for each in told.actions}


def test_an_empty_tensor_without_replicas_is_looked_for() -> None:
    assert offered(EMPTY.format(size=0, node="loss/xent")) == ["find-the-feed"]
    assert "empty tensor" not in explained(EMPTY.format(size=512, node="loss/xent")).verdict


@pytest.mark.parametrize(
    "says",
    [
        ".batch(16) and .batch(18) run.",
        "A larger or smaller batch size works, only 17 fails.",
        "I tried a batch size of 128 (instead of 17) and it ran without an error.",
    ],
)
def test_a_larger_batch_that_runs_rules_memory_out(says: str) -> None:
    told = explained(SHADER + says)
    assert "says that a larger batch runs, so memory is not what is short" in told.verdict
    assert [each.remedy.slug for each in told.actions] == ["even-batches"]


@pytest.mark.parametrize(
    "says",
    [
        ".batch(8) and .batch(16) run.",
        "On the V100 batch sizes 32 and 64 work.",
        "Batch sizes 32 and 64 work with half the resolution.",
        "A larger or smaller batch size does not work either.",
        "I tried a batch size of 8 (instead of 17) and it ran without an error.",
    ],
)
def test_other_batches_say_nothing_of_this_one(says: str) -> None:
    assert "larger batch runs" not in explained(SHADER + says).verdict


@pytest.mark.parametrize(
    "says",
    [
        "This comes up when I run it on TensorFlow 1.13.1, with a batch size of 8, 4 and with 1 as well.",
        "I get this error when I try to run it with a Batch Size of 8, 4 and 1 also.",
    ],
)
def test_of_several_batches_that_failed_the_smallest_counts(says: str) -> None:
    told = explained(f"{says}\n{oom('1,16,280,480', 'net/a/Relu')}")
    assert told.actions[0].remedy.slug == "see-device-users"
    assert "the batch is 1 already" in told.actions[1].remedy.text


def test_a_batch_that_runs_is_none_that_failed() -> None:
    told = explained(f"With a batch size of 8 and 4 it fails, 1 works.\n{oom('4,16,280,480', 'net/a/Relu')}")
    assert "the batch is 1 already" not in " ".join(each.remedy.text for each in told.actions)
