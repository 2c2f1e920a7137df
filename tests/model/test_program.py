"""Which lines of the text a node of a statement takes."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Statement

CODE = "for x in xs:\n    f(\n        x,\n    )\n"


def statement(shown: int, running: frozenset[int] | None = None) -> Statement:
    lines = tuple(Line(10 + row, text) for row, text in enumerate(CODE.splitlines()[:shown]))
    return Statement(ast.parse(CODE).body[0], lines, running=running)


def call(of: Statement) -> ast.Call:
    return next(node for node in ast.walk(of.node) if isinstance(node, ast.Call))


@pytest.mark.parametrize("shown, span", [(4, (11, 13)), (3, (11, 12))])
def test_the_lines_of_a_call(shown: int, span: tuple[int, int]) -> None:
    assert statement(shown).span(call(statement(shown))) == span


@pytest.mark.parametrize(
    "running, ran", [(None, True), (frozenset({12}), True), (frozenset({10}), False), (frozenset(), False)]
)
def test_a_call_ran_where_one_of_its_lines_did(running: frozenset[int] | None, ran: bool) -> None:
    made = statement(4, running)
    assert made.runs(call(made)) is ran


@pytest.mark.parametrize(
    "code, name", [("jax.jit", "jit"), ("jit", "jit"), ("f().call", "call"), ("f()", ""), ("3", "")]
)
def test_the_last_name_of_an_expression(code: str, name: str) -> None:
    assert last_name(ast.parse(code, mode="eval").body) == name
