"""A Jacobian of a network's outputs by its own inputs, and others."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained, offered

PROGRAM = """import tensorflow as tf
def derivatives(net, xy):
    with tf.GradientTape() as tape:
        tape.watch(xy)
        uvp = {made}
    return tape.jacobian(uvp, {by})
"""


@pytest.mark.parametrize(
    ("made", "by", "told"),
    [
        ("net(xy)", "xy", True),
        ("net(xy)", "net.trainable_variables", False),
        ("net(xy, training=True)", "xy", False),  # batch normalization mixes samples
        ("net(other)", "xy", False),
    ],
)
def test_of_each_sample(made: str, by: str, told: bool) -> None:
    text = PROGRAM.format(made=made, by=by) + oom("2100,700,48", "gradient_tape/TanhGrad_3/pfor/Tile")
    assert ("jacobian-by-samples" in offered(text)) is told
    if told:
        remedy = explained(text).actions[0].remedy
        assert remedy.code == "tape.batch_jacobian(uvp, xy)" and "700 times smaller" in remedy.text
