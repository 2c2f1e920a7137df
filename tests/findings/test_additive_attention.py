"""Additive attention of all queries at once, by its lines and by the name of what failed."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained

PROGRAM = """import tensorflow as tf
def attend(query, keys):
    hidden = {hidden}
    score = {score}
    return tf.nn.softmax(score)
"""
HIDDEN = "tf.nn.tanh(tf.expand_dims(query, 2) + tf.expand_dims(keys, 1))"
SCORE = "tf.squeeze(tf.layers.dense(hidden, 1, use_bias=False, name='v'), -1)"
NODE = "gradients/decoder/attention/v/Tensordot/MatMul_grad/MatMul"


@pytest.mark.parametrize(
    ("hidden", "score", "shape", "node", "told"),
    [
        (HIDDEN, SCORE, "125440,192", NODE, True),
        (HIDDEN, SCORE, "40,56,56,192", NODE, True),
        ("tf.tanh(query[:, :, None, :] + keys[:, None] + bias)", SCORE, "40,56,56,192", NODE, True),
        (HIDDEN, "tf.squeeze(self.v(hidden), -1)", "125440,192", NODE, True),
        (HIDDEN, "tf.reduce_sum(v * hidden, -1)", "40,56,56,192", NODE, True),
        (HIDDEN, SCORE, "125440,192", "decoder/merge/MatMul", False),  # of another layer
        (HIDDEN, SCORE, "40,56,56", NODE, False),  # the scores
        (HIDDEN, "tf.layers.dense(hidden, 64)", "125440,192", NODE, False),  # a net of pairs
        ("tf.tanh(query + tf.expand_dims(keys, 1))", SCORE, "125440,192", NODE, False),  # one query
        ("tf.tanh(tf.expand_dims(query, 0) + tf.expand_dims(bias, 0))", SCORE, "125440,192", NODE, False),
    ],
)
def test_the_sum_of_each_pair(hidden: str, score: str, shape: str, node: str, told: bool) -> None:
    found = explained(PROGRAM.format(hidden=hidden, score=score) + oom(shape, node))
    assert ("additive attention (line 3) adds every `query`" in found.verdict) is told
    assert (found.actions[0].remedy.slug == "score-by-product") is told
