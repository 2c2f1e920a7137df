"""Which lines of the text a node of a statement takes."""

from __future__ import annotations

import ast

import pytest

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

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


def of_file(*codes: str, source: str = "net.py") -> Program:
    made = []
    for number, code in enumerate(codes, 1):
        made.append(Statement(ast.parse(code).body[0], (Line(number, code, source),)))
    return Program(tuple(made))


def test_a_file_that_was_read_twice_is_one_program() -> None:
    once = of_file("a = f(1)", "b = f(1)")
    assert once.joined([of_file("a = f(1)", "b = f(1)")]).statements == once.statements


@pytest.mark.parametrize(
    ("other", "count"),
    [
        (of_file("a = f(1)", source="other.py"), 3),
        (of_file("a = f(2)"), 3),  # the file was changed between
        (of_file("a = f(1)", "b = f(1)", "c = 1"), 3),
    ],
)
def test_what_is_not_there_yet_is_joined(other: Program, count: int) -> None:
    assert len(of_file("a = f(1)", "b = f(1)").joined([other]).statements) == count
