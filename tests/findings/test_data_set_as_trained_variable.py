"""Data sets in variables that the optimizer trains."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

CODE = """import tensorflow as tf
raw_img = tf.placeholder(tf.float32, [2400, 112, 112, 1])
img = tf.Variable(raw_img, name="img")
x = tf.gather(img, index)
step = tf.train.AdamOptimizer(1e-3).minimize(loss(x))
"""
BYTES = 2400 * 112 * 112 * 4


def told(code: str, shape: str = "2400,112,112,1") -> Finding | None:
    report = pipeline.explain(code + oom(shape, "Adam/update_img/mul"))
    return next((each for each in report.findings if each.rule == "data-set-as-trained-variable"), None)


@pytest.mark.parametrize(
    "change",
    [
        ("tf.gather(img, index)", "img[start:start + 32]"),
        ("tf.Variable(raw_img, name", "tf.Variable(initial_value=raw_img, name"),
        ('tf.Variable(raw_img, name="img")', "tf.get_variable('img', initializer=tf.constant(x_train))"),
        ("index", "index"),
    ],
)
def test_a_set_that_is_trained(change: tuple[str, str]) -> None:
    finding = told(CODE.replace(*change))
    assert finding is not None
    assert "`img` (line 3) holds the whole data set" in finding.headline
    assert finding.explains == 4 * BYTES
    assert finding.remedies[0].slug == "not-trainable"
    assert finding.remedies[0].saves_bytes == 3 * BYTES


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (('name="img")', 'name="img", trainable=False)'), "2400,112,112,1"),
        (("raw_img, name", "tf.random.normal([2400, 112, 112, 1]), name"), "2400,112,112,1"),
        (("minimize(loss(x))", "minimize(loss(x), var_list=net)"), "2400,112,112,1"),
        (("tf.gather(img, index)", "other"), "2400,112,112,1"),  # nothing is picked from it
        (("index", "index"), "24,112,112,16"),
        (("raw_img", "kernel"), "2400,112,112,1"),
    ],
)
def test_variables_that_are_trained_rightly(change: tuple[str, str], shape: str) -> None:
    assert told(CODE.replace(*change), shape) is None
