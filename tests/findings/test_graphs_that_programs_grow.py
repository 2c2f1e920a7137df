"""A loop of the program that makes ops beside its session's run adds to the graph in each turn."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, dump_by_size, oom
from tfmemlens import pipeline

MIB = 1 << 20
CODE = """import tensorflow as tf
ids = tf.placeholder(tf.int32, [None])
with tf.Session() as sess:
    for week in range(60):
        {before}
        drift = {drift}
        sess.run(train, {{ids: baskets}})
        print(sess.run(drift))
"""
GROWS = "tf.reduce_mean(table - tf.constant(prior))"


def first(drift: str = GROWS, before: str = "pass", blocks: int = 26) -> tuple[str, str]:
    held = dump_by_size(15_360_000, 500, (blocks, 15_360_000), (3, 8 * MIB), allocator="cpu")
    code = CODE.format(drift=drift, before=before)
    report = pipeline.explain(f"{code}{held}{oom('60000,64', 'sub', on=CPU, by='cpu')}")
    return report.findings[0].rule, report.verdict


def test_the_line_that_adds_to_the_graph() -> None:
    rule, verdict = first()
    assert rule == "growing-graph"
    assert "each turn of the loop of line 4 adds `tf.reduce_mean` (line 6) to the graph" in verdict
    assert "26 blocks of 14.65 MiB" in verdict


@pytest.mark.parametrize(
    ("drift", "before", "blocks"),
    [
        ("summary", "pass", 26),
        ("tf.train.global_step(sess, step)", "pass", 26),  # makes no op
        (GROWS, "tf.reset_default_graph()", 26),
        (GROWS, "pass", 4),  # nothing shows that anything is left behind
    ],
)
def test_near_misses(drift: str, before: str, blocks: int) -> None:
    assert first(drift, before, blocks)[0] != "growing-graph"


MAKES = "def drift_of(prior):\n    return tf.reduce_mean(table - prior)\n"
RUNS = "def drift_of(prior):\n    return sess.run(tf.reduce_mean(table - prior))\n"
PLAIN = "def drift_of(prior):\n    return np.mean(prior)\n"


@pytest.mark.parametrize(("function", "told"), [(MAKES, True), (RUNS, False), (PLAIN, False)])
def test_a_function_that_the_loop_calls_adds_its_ops(function: str, told: bool) -> None:
    """One that makes them and runs none: its caller runs what it returns."""
    held = dump_by_size(15_360_000, 500, (26, 15_360_000), (3, 8 * MIB), allocator="cpu")
    code = function + CODE.format(drift="drift_of(prior)", before="pass")
    verdict = pipeline.explain(f"{code}{held}{oom('60000,64', 'sub', on=CPU, by='cpu')}").verdict
    assert ("adds `drift_of()` (line 8) to the graph" in verdict) is told
