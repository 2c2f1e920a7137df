"""A gradient of each output, taken in a loop under another tape: a penalty, and no step of weights."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline

LOOP = """\
with tf.GradientTape() as outer:
    with tf.GradientTape(persistent=True) as inner:
        inner.watch(leaves)
        entries = tf.unstack(encoder(leaves), axis=1)
    penalty = 0.0
    for entry in entries:
        penalty += tf.reduce_sum(tf.square(inner.gradient(entry, leaves)))
g = outer.gradient(penalty, weights)
"""
LISTED = LOOP.replace(
    "    for entry in entries:\n        penalty += tf.reduce_sum(tf.square(inner.gradient(entry, leaves)))\n",
    "    penalty = tf.add_n([tf.nn.l2_loss(inner.gradient(code[:, k], leaves)) for k in range(48)])\n",
)
FAILED = oom("64,56,56,16", "enc/Conv2D")


def slugs(code: str) -> dict[str, str]:
    report = pipeline.explain(code + FAILED)
    return {each.slug: each.code or "" for finding in report.findings for each in finding.remedies}


@pytest.mark.parametrize("code", [LOOP, LISTED])
def test_one_random_direction_stands_for_all(code: str) -> None:
    advised = slugs(code)
    assert advised["one-random-direction"].startswith("g = inner.gradient(y, leaves, output_gradients=")
    actions = [each.remedy.slug for each in pipeline.explain(code + FAILED).actions]
    assert "first-order" not in actions


@pytest.mark.parametrize(
    "code",
    [
        LOOP.replace("inner.gradient(entry, leaves)", "inner.gradient(loss, leaves)"),  # the same each time
        LOOP.replace("inner.gradient(entry, leaves)", "outer.gradient(entry, leaves)"),
        LOOP.replace("with tf.GradientTape() as outer:", "with scope() as outer:"),
    ],
)
def test_other_loops_derive_nothing_for_each_output(code: str) -> None:
    assert "one-random-direction" not in slugs(code)
