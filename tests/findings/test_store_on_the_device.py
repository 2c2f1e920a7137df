"""A variable of thousands of samples that a line of the program makes whole."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained

FRAME = """Traceback (most recent call last):
  File "agent.py", line 23, in __init__
    {}
"""
STORE = "self.obs = tf.Variable(tf.zeros([self.capacity] + list(shape)), trainable=False)"


def text(line: str, shape: str) -> str:
    return FRAME.format(line) + oom(shape, "Fill")


@pytest.mark.parametrize(
    ("line", "shape", "said"),
    [
        (STORE, "4000,84,84,4", True),
        (STORE, "40000,512", True),
        ("bank = tf.Variable(np.zeros(shape, np.float32))", "4000,64,512", True),
        (STORE, "128,84,84,4", False),  # as few as a batch
        ("w = tf.Variable(tf.zeros([40000, 512]))", "40000,512", False),  # a weight
        ("w = tf.Variable(tf.random.normal([4000, 64, 512]))", "4000,64,512", False),
        ("x = tf.zeros([4000, 64, 512])", "4000,64,512", False),
    ],
)
def test_a_store_is_a_variable_of_constant_values(line: str, shape: str, said: bool) -> None:
    assert ("a store of samples (replay memory, bank, cache)" in explained(text(line, shape)).verdict) is said


@pytest.mark.parametrize(
    ("shape", "code", "part"),
    [
        ("4000,84,84,4", "store = np.zeros((4000, 84, 84, 4), np.uint8)", "pictures as uint8 (107.67 MiB)"),
        ("4000,64,512", "store = np.zeros((4000, 64, 512), np.uint8)", "pictures as uint8"),
        ("40000,512", "store = np.zeros((40000, 512), np.float32)", None),
    ],
)
def test_it_goes_to_the_host_as_bytes_if_it_holds_pictures(shape: str, code: str, part: str | None) -> None:
    actions = [each.remedy for each in explained(text(STORE, shape)).actions]
    assert [each.slug for each in actions[:2]] == ["data-on-the-host", "smaller-replay"]
    assert code in (actions[0].code or "")
    assert (part in actions[0].text) if part else "uint8" not in actions[0].text
    assert "smaller-batch" not in {each.slug for each in actions}


def test_a_tenth_of_the_samples_takes_a_tenth() -> None:
    smaller = explained(text(STORE, "4000,84,84,4")).actions[1].remedy
    whole = 4000 * 84 * 84 * 4 * 4
    assert "400 instead of 4,000 take 43.07 MiB" in smaller.text
    assert smaller.saves_bytes == whole - whole // 10


KEPT = """
import tensorflow as tf
SHAPE = (64, 64, 4)
obs = tf.Variable(tf.zeros((4000,) + SHAPE), trainable={trainable})

"""


@pytest.mark.parametrize(
    ("trainable", "shape", "op", "said"),
    [
        ("False", "4000,64,64,4", "ReadVariableOp", True),
        ("True", "4000,64,64,4", "ReadVariableOp", False),
        ("False", "4000,64,64,3", "ReadVariableOp", False),  # of another shape
        ("False", "4000,64,64,4", "Conv2D", False),
    ],
)
def test_an_op_that_copies_a_store(trainable: str, shape: str, op: str, said: bool) -> None:
    log = FRAME.format("obs[i].assign(o)") + oom(shape, op)
    verdict = explained(KEPT.format(trainable=trainable) + log).verdict
    assert ("the failing line reads or writes it, and makes a copy of it whole" in verdict) is said
    assert "Adam" not in verdict
