"""`tf.vectorized_map` makes what its function makes for all elements at once."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained
from tfmemlens.model.report import Report

FRAME = """Traceback (most recent call last):
  File "private.py", line 33, in step
    {}
"""
OF_GRADIENTS = "gradient_tape/loop_body/MatMul/MatMul/pfor/MatMul"


def report(line: str, node: str, shape: str = "256,600,512") -> Report:
    return explained("WIDTH = 600\n\n" + FRAME.format(line) + oom(shape, node))


@pytest.mark.parametrize(
    ("line", "node", "said"),
    [
        (
            "grads = tf.vectorized_map(self.one, (x, y))",
            OF_GRADIENTS,
            "(private.py:33) computes `self.one` for all elements at once: here a gradient of [600,512],"
            " 1.17 MiB, for each of 256 examples",
        ),
        (
            "z = tf.vectorized_map(cost, x)",
            "loop_body/Square/pfor/Square",
            "here [600,512], 1.17 MiB",
        ),
        ("j = tape.jacobian(y, w)", "loop_body/MatMul/pfor/MatMul", "works on all its iterations at once"),
    ],
)
def test_what_is_computed_for_all(line: str, node: str, said: str) -> None:
    assert said in report(line, node).verdict


def test_parts_of_the_examples_come_first_and_the_features_stay() -> None:
    actions = [each.remedy for each in report("g = tf.vectorized_map(one, x)", OF_GRADIENTS).actions]
    assert actions[0].slug == "in-blocks" and "(32 instead of 256)" in actions[0].text
    assert actions[0].saves_bytes == 224 * 600 * 512 * 4
    assert not {"lower-constant", "without-pfor"} & {each.slug for each in actions}


def test_an_ordinary_map_helps_where_no_result_is_as_large() -> None:
    found = report("z = tf.vectorized_map(cost, x)", "loop_body/Square/pfor/Square")
    assert "without-pfor" in [each.remedy.slug for each in found.actions]


@pytest.mark.parametrize(
    ("line", "mapped"), [("z = tf.vectorized_map(cost, x)", True), ("z = attend(x)", False)]
)
def test_matrices_of_a_map_are_no_attention(line: str, mapped: bool) -> None:
    verdict = report(line, "loop_body/MatMul/pfor/MatMul", "21025,80,80").verdict
    assert ("for each of 21,025" in verdict) is mapped
    assert "attention" not in verdict or not mapped


PRIVATE = """
import keras, tensorflow as tf
net = keras.Sequential([keras.Input((600,)), keras.layers.Dense(512, name="wide"), keras.layers.Dense(9)])
def one(pair):
    with tf.GradientTape() as tape:
        loss = f(net(pair[0][None]))
    return tape.gradient(loss, net.trainable_variables)
grads = tf.vectorized_map(one, (x, y))

"""


@pytest.mark.parametrize(
    ("code", "shape", "said"),
    [
        (PRIVATE, "256,307200", True),
        (PRIVATE, "256,512,600", True),
        (PRIVATE, "256,307201", False),  # as many numbers as no weight has
        (PRIVATE.replace("tape.gradient", "tape.watched"), "256,307200", False),
        (PRIVATE.replace("tf.vectorized_map", "tf.map_fn"), "256,307200", False),
    ],
)
def test_what_works_on_the_gradients_of_a_map(code: str, shape: str, said: bool) -> None:
    found = explained(code + FRAME.format("sq = tf.square(tf.reshape(g, [n, -1]))") + oom(shape, "Square"))
    told = "(line 8) gives a gradient of every weight for each of 256 examples" in found.verdict
    assert told is said
    if said:
        assert "and this works on those of [600,512]" in found.verdict
        assert "(32 instead of 256)" in found.actions[0].remedy.text
