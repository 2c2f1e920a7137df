"""Equal chunks in a loop that the graph runs: a gradient keeps every turn, and no list of Python's does."""

from __future__ import annotations

import ast

import pytest

from tests.findings.logs import dump_by_size, oom
from tfmemlens import pipeline
from tfmemlens.findings.support.graph_loop import graph_loop
from tfmemlens.findings.support.taped_loop import taped_loop
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.model.report import Report

WHILE = """\
TURNS = 40
def turn(t, x):
    y = tf.matmul(x, w)
    return t + 1, x + y
_, out = tf.while_loop(lambda t, x: t < TURNS, turn, [0, x], name="flow")
step = tf.train.AdamOptimizer().minimize(tf.reduce_mean(out))
"""
RANGE = """\
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        for t in tf.range(40):
            x = mix(x)
        loss = f(x)
    return tape.gradient(loss, weights)
def mix(x):
    return tf.tanh(x @ w)
"""


def told(code: str) -> Surroundings:
    lines = tuple(Line(number, text, "net.py") for number, text in enumerate(code.splitlines(), 1))
    statements = tuple(Statement(node, lines) for node in ast.parse(code).body)
    return Surroundings(program=lambda: Program(statements))


@pytest.mark.parametrize(
    ("code", "source", "node", "turns", "line"),
    [
        (WHILE, "/home/net.py:3", None, 40, 5),
        (WHILE, None, "flow/MatMul", 40, 5),
        (RANGE, "net.py:5", None, 40, 4),
        (RANGE, "net.py:9", None, 40, 4),  # in what a turn calls
    ],
)
def test_the_loop_of_the_failing_line(
    code: str, source: str | None, node: str | None, turns: int, line: int
) -> None:
    loop = graph_loop(told(code), FailedRequest(source=source, node=node))
    assert loop and (loop.turns, loop.line.number) == (turns, line)
    assert (loop.named is not None) is (code is WHILE)


@pytest.mark.parametrize(
    ("code", "source", "node"),
    [
        (WHILE, "net.py:6", None),  # behind the loop
        (WHILE, "other.py:3", None),
        (WHILE, None, "net/flow"),  # an op of this name, and none inside
        (WHILE.replace(".minimize(", ".build("), "net.py:3", None),  # no gradient is taken
        (RANGE.replace("tf.range", "range"), "net.py:5", None),  # Python's own loop
    ],
)
def test_near_misses(code: str, source: str | None, node: str | None) -> None:
    assert graph_loop(told(code), FailedRequest(source=source, node=node)) is None


@pytest.mark.parametrize(
    ("source", "inside"), [("a/net.py:5", True), ("net.py:4", False), ("net.py:6", False), ("x.py:5", False)]
)
def test_a_line_within_the_turns_of_a_tape_s_loop(source: str, inside: bool) -> None:
    loop = taped_loop(told(RANGE.replace("tf.range", "range")).program())
    assert loop and loop.holds(source) is inside


MIB = 1 << 20
OF_THE_REQUEST = 8 * 56 * 56 * 32 * 4
BODY = """
def body(t, out):
    y = tf.layers.conv2d(x[:, t], 32, 3, padding='same')
    return t + 1, out.write(t, y)
_, out = tf.while_loop(lambda t, _: t < {turns}, body, [0, ta])
train = tf.train.AdamOptimizer().minimize(loss_of(out))
"""
OLD = (
    "W tensorflow/core/framework/op_kernel.cc:1192] Resource exhausted: OOM when allocating tensor with"
    " shape[{}]\n"
)


def of_frames(count: int, turns: str = "24", shape: str = "8,56,56,32", node: str = "") -> Report:
    """A dump of a release that prints no type, and names no op, beside the loop."""
    sizes = ((count, OF_THE_REQUEST), (5, MIB))
    held = sum(number * size for number, size in sizes)
    dump = "".join(
        f"I tensorflow/core/common_runtime/bfc_allocator.cc:696] {number} Chunks of size {size} totalling"
        f" {number * size / MIB:.2f}MiB\n"
        for number, size in sizes
    )
    stats = (
        f"I tensorflow/core/common_runtime/bfc_allocator.cc:702] Stats: \nLimit:     {held + MIB}\n"
        f"InUse:     {held}\nMaxInUse:  {held}\nNumAllocs:    90\nMaxAllocSize:   {OF_THE_REQUEST}\n\n"
    )
    tag = f"\t [[Node: {node} = Conv2D[T=DT_FLOAT](a, b)]]\n" if node else ""
    return pipeline.explain("TF 1.4\n" + dump + stats + OLD.format(shape) + tag + BODY.format(turns=turns))


def test_as_many_blocks_as_turns_are_what_they_make() -> None:
    found = of_frames(24)
    assert "as many as the 24 turns of `tf.while_loop`" in found.verdict
    assert [action.remedy.slug for action in found.actions][:2] == ["fewer-turns", "swap-to-host"]


@pytest.mark.parametrize(
    ("count", "turns", "shape", "node"),
    [
        (23, "24", "8,56,56,32", ""),  # another number
        (24, "n", "8,56,56,32", ""),  # turns that are not known
        (24, "24", "8,56,56,48", ""),  # another size
        (24, "24", "8,56,56,32", "dense/MatMul"),  # an op outside
    ],
)
def test_other_blocks_are_no_turns(count: int, turns: str, shape: str, node: str) -> None:
    assert "turns of `tf.while_loop`" not in of_frames(count, turns, shape, node).verdict


STATE = """
def simulate(u, steps):
    _, u = tf.while_loop(lambda i, u: i < steps, body, (0, u))
    return u
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(simulate(u0, 150))
"""


@pytest.mark.parametrize(("code", "again"), [(STATE, True), (STATE.replace("tf.while_loop", "run"), False)])
def test_the_loop_of_a_program_can_be_computed_again_in_pieces(code: str, again: bool) -> None:
    size = 4 * 128 * 128 * 8 * 4
    dump = dump_by_size(size, 300, (126, size)).replace("net/dense/MatMul", "while/body/_1/while/Roll")
    asked = oom("4,128,128,8", "while/body/_1/while/Roll")
    slugs = [
        action.remedy.slug for action in pipeline.explain("TensorFlow 2.11\n" + code + dump + asked).actions
    ]
    assert ("pieces-again" in slugs) is again
