"""Equal chunks in a loop that the graph runs: a gradient keeps every turn, and no list of Python's does."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.findings.support.graph_loop import graph_loop
from tfmemlens.findings.support.taped_loop import taped_loop
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.incident import FailedRequest
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

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
