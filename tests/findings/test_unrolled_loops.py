"""A loop of Python in a session's graph makes many equal blocks in one step: no leak between steps."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, MIB, dump_by_size, oom
from tests.findings.pages import explained
from tfmemlens import pipeline
from tfmemlens.findings.support.graph_loop import unrolled_loop

PROGRAM = """\
import tensorflow as tf
TICKS = 70
def fold(odds, turns):
    alpha = odds[:, 0]
    for t in range(1, TICKS):
        both = alpha[:, :, None] + turns[None]
        alpha = tf.reduce_logsumexp(both, axis=1)
    return alpha
step = tf.train.AdamOptimizer(1e-3).minimize(tf.reduce_mean(fold(odds, turns)))
with tf.Session() as sess:
    for number in range(400):
        sess.run(step, {odds: heard})
"""
HOST = "bfc_cpu_allocator_for_gpu"
EACH = 20 * 200 * 200 * 4
OLD = (
    '  File "/lib/site-packages/tensorflow_core/python/client/session.py", line 1350, in _do_call\n'
    "    raise type(e)(node_def, op, message)\n"
)


def failed(steps: str = "") -> str:
    said = oom("20,200,200", "fold/add_80", on=CPU, by=HOST)
    return steps + dump_by_size(EACH, 182, (58, EACH), (1, 2 * MIB), allocator=HOST) + OLD + said


def test_equal_blocks_of_one_step_are_no_leak() -> None:
    page = explained(PROGRAM + failed())
    assert (
        "what each of the 69 turns of `for t in range(1, TICKS)` (line 5) makes in one step" in page.verdict
    )
    assert "leak" not in page.verdict
    slugs = [each.remedy.slug for each in page.actions]
    assert "fewer-turns" in slugs and "look-for-lists" not in slugs and "keep-numbers" not in slugs


def test_steps_that_went_well_are_counted_first() -> None:
    steps = "".join(f"step {number}: loss 0.5\n" for number in (10, 20, 30, 40))
    assert "makes in one step" not in explained(PROGRAM + failed(steps)).verdict


@pytest.mark.parametrize(
    ("old", "new", "turns"),
    [
        ("", "", 69),
        ("range(1, TICKS)", "range(TICKS)", 70),
        ("range(1, TICKS)", "range(6)", None),  # too few for so many
        ("range(1, TICKS)", "range(900)", None),  # most are not there
        ("range(1, TICKS)", "range(len(odds))", None),
        ("tf.reduce_logsumexp(both, axis=1)", "both[0]", None),  # adds nothing by name
        (".minimize(", ".describe(", None),  # no gradient keeps it
        ("alpha = tf.", "sess.run(turns); alpha = tf.", None),  # runs in each turn
    ],
)
def test_which_loops_are_unrolled(old: str, new: str, turns: int | None) -> None:
    told = pipeline.capture(PROGRAM.replace(old, new) + failed()).surroundings
    found = unrolled_loop(told, 58)
    assert (found.turns if found else None) == turns


TAPED = """\
PARTS = 30
with tf.GradientTape() as tape:
    for part in range(PARTS):
        total = total + tf.reduce_mean(judge(made(part)))
grads = tape.gradient(total, weights)
"""


def test_blocks_of_several_sizes_under_one_tape_come_before_the_op_that_failed() -> None:
    node = (
        "{{function_node __wrapped__Conv2DBackpropInput_device_/job:localhost/replica:0/task:0/device:CPU:0}}"
        " OOM when allocating tensor with shape[109,144,384] and type float on "
    )
    said = f"ResourceExhaustedError: {node}{CPU} by allocator {HOST} [Op:Conv2DBackpropInput]\n"
    sizes = (25, 2 * MIB), (40, MIB), (60, 3 * MIB // 4)
    page = explained(TAPED + dump_by_size(109 * 144 * 384 * 4, 150, *sizes, allocator=HOST) + said)
    assert "25 blocks of 2.00 MiB" in page.verdict and "the tape of line 2" in page.verdict
    assert page.actions[0].remedy.slug == "tape-inside-loop"
    few = (9, 3 * MIB), (8, MIB), (1, 90 * MIB)
    page = explained(TAPED + dump_by_size(109 * 144 * 384 * 4, 150, *few, allocator=HOST) + said)
    assert "the tape of line 2" not in page.verdict
