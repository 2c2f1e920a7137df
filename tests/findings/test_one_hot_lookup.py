"""One-hot rows that a line of the program multiplies by a table: a lookup, no labels."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize(
    ("line", "looked_up"),
    [
        ("return self.project(tf.one_hot(ids, self.titles))", True),
        ("h = Dense(16)(tf.one_hot(labels, 7000))", True),
        ("return self.loss(tf.one_hot(ids, self.titles), logits)", False),
        ("y = tf.cast(tf.one_hot(ids, 7000), dtype)", False),
    ],
)
def test_rows_that_a_layer_is_given_are_looked_up_instead(line: str, looked_up: bool) -> None:
    slugs = [action.remedy.slug for action in report(line).actions]
    assert (slugs[0] == "embed-the-feature") is looked_up
    assert not looked_up or "smaller-batch" not in slugs


GRAPH = """Traceback (most recent call last):
  File "{file}", line 21, in run
    run_metadata)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape\
[32,90,9000] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
\t [[node desk/{node} (defined at /usr/lib/python3/site-packages/tensorflow_core/ops.py:1748) ]]


Original stack trace for 'desk/{node}':
  File "{file}", line 4, in desk
    {line}
"""


@pytest.mark.parametrize("node", ["token_rows", "one_hot"])
def test_rows_of_a_graph_that_meet_a_table_are_no_logits(node: str, tmp_path: Path) -> None:
    line = f'rows = tf.one_hot(tokens, WORDS, name="{node}")'
    program = tmp_path / "desk.py"
    program.write_text(
        "import tensorflow as tf\nWORDS = 9000\ndef desk(tokens, table):\n"
        f"    {line}\n    return tf.tensordot(rows, table, axes=[[2], [0]])\n"
    )
    log = tmp_path / "run.log"
    log.write_text(GRAPH.format(file="desk.py", node=node, line=line))
    told = pipeline.explain([log, program])
    assert "2,880 ids are looked up in `table` as one-hot rows of 9,000 numbers" in told.verdict
    assert told.actions[0].remedy.code.startswith("tf.gather(table, tokens)")
    assert not {"sampled-loss", "smaller-vocabulary"} & {each.remedy.slug for each in told.actions}


def test_a_product_that_stands_in_the_line_of_its_rows_stays_logits(tmp_path: Path) -> None:
    line = "logits = one_hot(project(x), WORDS)"
    told = pipeline.explain(GRAPH.format(file="desk.py", node="token_logits/MatMul", line=line))
    assert "copy of the logits" in told.verdict
