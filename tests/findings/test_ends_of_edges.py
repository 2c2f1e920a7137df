"""A layer that works on the joined rows of both ends of all edges."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom
from tests.findings.pages import offered

CODE = """
import tensorflow as tf
EDGES = 480000
def call(self, h, src, dst):
    a = tf.gather(h, src)
    b = tf.gather(h, dst)
    z = tf.concat([{joined}], axis=-1)
    m = self.msg(z)
    return tf.math.unsorted_segment_sum(m, dst, NODES)

"""


@pytest.mark.parametrize(("joined", "before"), [("a, b, edge", True), ("a, edge", False)])
def test_the_layer_is_applied_before_rows_are_gathered(joined: str, before: bool) -> None:
    frame = 'Traceback (most recent call last):\n  File "net.py", line 8, in call\n    m = self.msg(z)\n'
    slugs = offered(CODE.format(joined=joined) + frame + oom("480000,64", "gnn/msg/MatMul", on=CPU, by="cpu"))
    assert ("project-before-gather" in slugs) is before
    assert "smaller-batch" not in slugs and "lower-setting" not in slugs
