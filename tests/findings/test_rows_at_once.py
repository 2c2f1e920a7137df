"""All rays or points of something that go through a network at once."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

MIB = 1 << 20
HOST = "bfc_cpu_allocator_for_gpu"
CODE = """import tensorflow as tf
HEIGHT = 64
WIDTH = 64
N_SAMPLES = 96
net = tf.keras.Sequential([tf.keras.layers.Dense(128, activation="relu") for _ in range(4)])
def render(net):
    pts = tf.random.uniform([HEIGHT, WIDTH, N_SAMPLES, 3])
    return net(tf.reshape(pts, [-1, 3]))
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(render(net))
grads = tape.gradient(loss, net.weights)
"""


def told(code: str, shape: str = "393216,128") -> Finding | None:
    full = dump_by_size(192 * MIB, 1200, (3, 192 * MIB), (1, 500 * MIB), allocator=HOST)
    report = pipeline.explain(f"{code}\n{full}{oom(shape, 'net/dense_2/BiasAdd', on=CPU, by=HOST)}")
    return next((each for each in report.findings if each.rule == "rows-at-once"), None)


def test_rows_are_told_with_the_settings_that_make_them() -> None:
    finding = told(CODE)
    assert finding is not None
    assert finding.headline.startswith(
        "393,216 rows (`HEIGHT` x `N_SAMPLES` x `WIDTH`) go through the network"
    )
    assert "4 such tensors in a step, 768.00 MiB" in finding.headline
    assert finding.explains == 4 * 393216 * 128 * 4
    assert finding.remedies[0].slug == "in-blocks"


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        (CODE.replace("GradientTape", "Profile").replace("tape.gradient", "look"), "393216,128"),
        (CODE.replace("N_SAMPLES = 96", "N_SAMPLES = 8"), "32768,128"),  # few
        (CODE, "64,64,96,3"),
        (CODE, "393216,64"),
        (CODE.replace("N_SAMPLES = 96", "N_SAMPLES = 96\nbatch_size = 393216"), "393216,128"),
    ],
)
def test_rows_that_are_no_such(code: str, shape: str) -> None:
    assert told(code, shape) is None
