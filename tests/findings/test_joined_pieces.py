"""Lists that a function fills and joins itself."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.findings.support.joined_pieces import joined_where_made
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

JOINS = """def volume(x):
    planes = []
    for k in range(9):
        planes.append(tf.roll(x, k, 1))
    return tf.stack(planes, axis=1)
"""


def program(code: str) -> Program:
    lines = tuple(Line(number, text) for number, text in enumerate(code.split("\n"), 1))
    return Program(tuple(Statement(node, lines) for node in ast.parse(code).body))


@pytest.mark.parametrize(
    "join", ["tf.stack(planes, axis=1)", "tf.concat(values=planes, axis=1)", "tf.add_n(planes)"]
)
def test_the_line_that_joins_is_told(join: str) -> None:
    line = joined_where_made(program(JOINS.replace("tf.stack(planes, axis=1)", join)), "planes")
    assert line is not None
    assert line.number == 5


@pytest.mark.parametrize(
    "code",
    [
        JOINS.replace("planes = []", "planes = self.kept"),  # older than the call
        JOINS.replace("tf.stack(planes, axis=1)", "x"),
        JOINS.replace("tf.stack(planes, axis=1)", "tf.stack(x, axis=len(planes))"),
        "planes = []\nfor x in ds:\n    planes.append(f(x))\ny = tf.stack(planes)\n",  # of the whole run
    ],
)
def test_a_list_that_lives_longer_is_none(code: str) -> None:
    assert joined_where_made(program(code), "planes") is None
