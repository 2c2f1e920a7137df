"""One-hot rows that a line of the program multiplies by a table: a lookup, no labels."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def report(line: str) -> Report:
    return pipeline.explain(
        f'Traceback (most recent call last):\n  File "desk.py", line 22, in lookup\n    {line}\n'
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
        " shape[64,150,7000] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
        " GPU_0_bfc [Op:OneHot]\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "return tf.tensordot(tf.one_hot(ids, self.titles), self.table, 1)",
        "x = tf.one_hot(ids, len(words)) @ table",
        "x = tf.matmul(tf.one_hot(ids, 7000), table)",
    ],
)
def test_a_lookup_is_made_by_index_and_no_batch_is_advised(line: str) -> None:
    told = report(line)
    assert "9,600 ids are looked up in a table as one-hot vectors of 7,000 numbers each" in told.verdict
    assert told.actions[0].remedy.slug == "look-up-by-index"
    assert told.actions[0].remedy.saves_bytes == 64 * 150 * 7000 * 4
    assert "smaller-batch" not in {action.remedy.slug for action in told.actions}


def test_rows_that_nothing_multiplies_are_labels() -> None:
    told = report("y = tf.one_hot(labels, 7000)")
    assert "labels as one-hot vectors" in told.verdict
    assert "look-up-by-index" not in {action.remedy.slug for action in told.actions}
