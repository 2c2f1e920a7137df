"""Products with one-hot rows, which pick or add up rows of something."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.findings.one_hot_products import one_hot_products
from tfmemlens.model.finding import Finding
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.readers.program.parsing import statements_of_file

MIB = 1 << 20
LAYER = """import tensorflow as tf
class Interaction(tf.keras.layers.Layer):
    def call(self, h, src, dst):
        n = tf.shape(h)[0]
        sender = tf.one_hot(src, n)
        receiver = tf.one_hot(dst, depth=n)
        m = tf.matmul(sender, self.pre(h))
        return h + tf.matmul(receiver, m, transpose_a=True)
"""


def program(code: str) -> Program:
    lines = [Line(number, text) for number, text in enumerate(code.split("\n"), 1)]
    return Program(tuple(statements_of_file(lines)))


@pytest.mark.parametrize(
    ("product", "instead"),
    [
        ("tf.matmul(sender, self.pre(h))", "tf.gather(self.pre(h), src)"),
        ("sender @ h", "tf.gather(h, src)"),
        ("tf.matmul(sender, h, transpose_a=True)", "tf.math.unsorted_segment_sum(h, src, n)"),
        ("tf.matmul(tf.transpose(sender), h)", "tf.math.unsorted_segment_sum(h, src, n)"),
        ("tf.matmul(h, sender)", None),
        ("tf.matmul(other, h)", None),
        ("self.dense(sender)", None),
    ],
)
def test_what_gives_the_same(product: str, instead: str | None) -> None:
    code = LAYER.replace("tf.matmul(sender, self.pre(h))", product)
    found = {each.made.number: each.instead for each in one_hot_products(program(code))}
    assert found.get(5) == instead
    assert found[6] == "tf.math.unsorted_segment_sum(m, dst, n)"


def told(code: str, shape: str = "48,48", need: int = 9216, large: int = 81 * MIB) -> Finding | None:
    full = dump_by_size(need, 4000, (6, large), (100, 3 * MIB), (1, 3990 * MIB - 6 * large - 300 * MIB))
    report = pipeline.explain(f"{code}\n{full}{oom(shape, 'interaction_2/MatMul')}")
    return next((each for each in report.findings if each.rule == "one-hot-products"), None)


def test_where_what_failed_is_small_large_blocks_may_be_such_rows() -> None:
    finding = told(LAYER)
    assert finding is not None
    assert finding.headline.startswith("line 5 and line 6 make a one-hot row")
    assert "most likely some of the large blocks" in finding.headline
    (remedy,) = finding.remedies
    assert remedy.code is not None
    assert "tf.gather(self.pre(h), src)   # line 7" in remedy.code


@pytest.mark.parametrize(
    ("code", "shape", "need"),
    [
        (LAYER.replace("tf.one_hot", "tf.ragged_rows"), "48,48", 9216),
        (LAYER, "4096,65536", 1024 * MIB),  # large, and of another op
        (LAYER.replace("tf.matmul(sender, self.pre(h))", "x").replace("receiver, m", "m, m"), "48,48", 9216),
    ],
)
def test_what_no_one_hot_rows_are_blamed_for(code: str, shape: str, need: int) -> None:
    assert told(code, shape, need) is None
