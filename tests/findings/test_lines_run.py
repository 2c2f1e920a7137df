"""A line that had not run by the failure is to blame for nothing."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.findings.support.jax_program import gradients_by_program, made_by_program
from tfmemlens.findings.support.lines_run import has_run
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

CODE = """\
def near(a):
    return a * 2
def main():
    d = near(x)
    for i in range(9):
        y = near(d)
        z = near(y)
    print(z)
main()
"""


def program(code: str, running: frozenset[int] | None = None) -> Program:
    lines = tuple(Line(number, text) for number, text in enumerate(code.splitlines(), 1))
    return Program(tuple(Statement(node, lines, running=running) for node in ast.parse(code).body))


@pytest.mark.parametrize(
    ("running", "line", "ran"),
    [
        ({2, 4, 9}, 6, False),  # the loop stands behind line 4
        ({2, 6, 9}, 7, True),  # an earlier turn of the same loop
        ({2, 6, 9}, 8, False),
        ({2, 8, 9}, 6, True),
        ({2, 4, 9}, 1, True),
        (None, 8, True),
    ],
)
def test_lines_that_had_run(running: set[int] | None, line: int, ran: bool) -> None:
    made = program(CODE, frozenset(running) if running else None)
    assert has_run(made, made.statements[0].lines[line - 1]) is ran


def told(code: str) -> Surroundings:
    return Surroundings(program=lambda: program(code))


BIG = 8 << 30


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, x, y)", True),
        ("jax.vmap(jax.value_and_grad(loss), in_axes=(None, 0))(params, x)", True),
        ("jax.vmap(jax.grad(loss))(params, x)", False),  # each row has weights of its own
        ("jax.vmap(loss, in_axes=(None, 0))(params, x)", False),
    ],
)
def test_gradients_of_single_examples(call: str, found: bool) -> None:
    made = gradients_by_program(told(f"BATCH = 256\ng = {call}\n"), BIG)
    assert (made is not None) is found
    if made:
        assert "each of 256 examples (BATCH)" in made.what and "take 16 of 256" in made.remedies[0].text


@pytest.mark.parametrize(("rows", "found"), [(64, False), (50_000_000, True)])
def test_a_small_constant_is_no_cause(rows: int, found: bool) -> None:
    code = f"import jax.numpy as jnp\nx = jnp.zeros(({rows}, 32))\n@jax.jit\ndef f(t):\n    return t @ x\n"
    assert (made_by_program(told(code), 6 << 30) is not None) is found
