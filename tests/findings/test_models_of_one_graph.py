"""A loop that builds a model in each turn, in one graph and for one session."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size
from tfmemlens import pipeline
from tfmemlens.model.report import Report

STUDY = """\
import tensorflow as tf
def head(x):
    return tf.layers.dense(x, 1)
def build(scope, width=900):
    with tf.variable_scope(scope):
        x = tf.placeholder(tf.float32, [None, 2600])
        out = head(tf.layers.dense(x, width))
        step = tf.train.AdamOptimizer(1e-3).minimize(tf.reduce_mean(out))
    return x, step
def fit(sess, x, step):
    sess.run(step, {x: data})
with tf.Session() as sess:
    for fold in range(20):
        x, step = build("fold_%d" % fold)
        fit(sess, x, step)
"""
IN_THE_LOOP = """\
import tensorflow as tf
sess = tf.Session()
for fold in range(20):
    with tf.variable_scope("fold_%d" % fold):
        out = tf.layers.dense(x, 900)
        step = tf.train.AdamOptimizer(1e-3).minimize(tf.reduce_mean(out))
    sess.run(tf.global_variables_initializer())
    sess.run(step, {x: data})
"""
OF_A_CLASS = """\
import tensorflow as tf
class Net(object):
    def __init__(self, tag, width):
        self.w = tf.get_variable(tag, [3000, width])
        self.op = tf.train.AdamOptimizer(0.1).minimize(tf.nn.l2_loss(self.w))
sess = tf.InteractiveSession()
for width in (800, 1000):
    net = Net("w%d" % width, width)
    sess.run(net.op)
"""


def told(code: str, blocks: int = 32) -> Report:
    full = dump_by_size(9 << 20, 450, (blocks, 9 << 20), (6, 3 << 20), (1, 16 << 20), allocator="cpu")
    return pipeline.explain(f"{code}\n{full}")


@pytest.mark.parametrize("code", [STUDY, IN_THE_LOOP, OF_A_CLASS], ids=["function", "loop", "class"])
def test_each_turn_builds_a_model_in_the_same_graph(code: str) -> None:
    report = told(code)
    assert "builds a new model in the same graph" in report.verdict
    assert "32 blocks of 9.00 MiB" in report.verdict
    first = report.actions[0].remedy
    assert first.code is not None and "tf.reset_default_graph()" in first.code
    assert "smaller-batch" not in [each.remedy.slug for each in report.actions]


def test_what_differs_only_by_name_may_be_built_once() -> None:
    again = "run its initializer at the start of each turn"
    assert any(again in each.remedy.text for each in told(STUDY).actions)
    assert not any(again in each.remedy.text for each in told(OF_A_CLASS).actions)


@pytest.mark.parametrize(
    "code",
    [
        STUDY.replace("        x, step = build", "        tf.reset_default_graph()\n        x, step = build"),
        STUDY.replace("variable_scope(scope)", "variable_scope(scope, reuse=tf.AUTO_REUSE)"),
        STUDY.replace(
            "    for fold in range(20):\n        x, step",
            "    for fold in range(1):\n        pass\n    x, step",
        ),
        STUDY.replace(
            "        step = tf.train.AdamOptimizer(1e-3).minimize(tf.reduce_mean(out))", "        step = out"
        ),
        IN_THE_LOOP.replace("tf.layers.dense(x, 900)", "loss").replace(
            'with tf.variable_scope("fold_%d" % fold):', "if fold:"
        ),
        STUDY.replace(
            "with tf.Session() as sess:\n    for fold in range(20):", "for fold in range(20):\n    if 1:"
        ).replace("        fit(", "        sess = tf.Session()\n        fit("),
    ],
    ids=["reset", "shared", "once", "no optimizer", "no variables", "a session for each"],
)
def test_elsewhere_no_model_is_left_by_turns(code: str) -> None:
    assert "builds a new model in the same graph" not in told(code).verdict


def test_few_blocks_prove_nothing() -> None:
    assert "builds a new model in the same graph" not in told(STUDY, blocks=3).verdict
