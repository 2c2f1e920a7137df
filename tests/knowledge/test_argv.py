"""What a program holds where its command line states nothing."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.knowledge.jax_arrays import arrays_of
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

CODE = """
import sys
import jax.numpy as jnp
ROWS = 4096
if {test}:
    ROWS = int(sys.argv[1])
pairs = jnp.zeros((ROWS, ROWS))
"""


def program(code: str) -> Program:
    lines = tuple(Line(at, text, "run.py") for at, text in enumerate(code.splitlines(), 1))
    return Program(tuple(Statement(node, lines) for node in ast.parse(code).body))


@pytest.mark.parametrize(("test", "known"), [("len(sys.argv) > 1", True), ("flag", False)])
def test_a_branch_of_the_command_line_is_not_taken(test: str, known: bool) -> None:
    shapes = [each.array.shape for each in arrays_of(program(CODE.format(test=test))).arrays]
    assert ((4096, 4096) in shapes) is known
