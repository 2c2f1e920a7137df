"""Scores of all rows that are sorted in one call."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

LOG = """Traceback (most recent call last):
  File "run.py", line 62, in {name}
    {line}
tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{{{function_node __wrapped__{op}}}}}\
 OOM when allocating tensor with shape[{shape}] and type int32 on\
 /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:{op}]
"""


@pytest.mark.parametrize(
    ("line", "op", "shape", "function"),
    [
        ("order = tf.argsort(scores, axis=-1, direction='DESCENDING')", "TopKV2", "6040,9066", "tf.argsort"),
        ("_, top = tf.math.top_k(scores, 9066)", "TopKV2", "6040,9066", "tf.math.top_k"),
        ("best = model.rank(users)", "TopKV2", "6040,9066", "TopKV2"),
        ("scores = tf.matmul(p, q, transpose_b=True)", "MatMul", "6040,9066", None),
        ("order = tf.argsort(scores)", "TopKV2", "64,900000", None),  # blocks of rows are there already
        ("order = tf.argsort(scores)", "TopKV2", "8,300,9066", None),
    ],
)
def test_rows_are_ranked(line: str, op: str, shape: str, function: str | None) -> None:
    found = explained(LOG.format(line=line, op=op, shape=shape, name="on_epoch_end"))
    told = function is not None
    assert (f"`{function}` (run.py:62) ranks" in found.verdict) is told
    assert (found.actions[0].remedy.slug == "rank-in-blocks") is told
    if told:
        assert "no training batch plays a part" in found.actions[0].remedy.text
        assert "smaller-vocabulary" not in {each.remedy.slug for each in found.actions}
