"""Which lines of a quoted program had run by the failure, as its traceback tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def has_run(program: Program, line: Line) -> bool:
    """Whether a line may have run by the failure: not where it stands behind the line that failed, in the
    same function and in no loop around both. Also where nobody knows.
    """
    for statement in program:
        first, last = statement.span(statement.node)
        if statement.running and first <= line.number <= last and line in statement.lines:
            return _reached(statement, line.number, program)
    return True


def calls_before(case: Case) -> list[tuple[str, Line]]:
    """Calls of the program's compiled functions that had run by the line that failed, in their order."""
    program = case.capture.surroundings.program()
    compiled = set(_compiled(program))
    calls = {
        (statement.line_of(node).number, node.func.id): statement.line_of(node)
        for statement in program
        if statement.running and not statement.of_frame
        for node in statement.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in compiled
    }
    return [(name, line) for (_, name), line in sorted(calls.items()) if has_run(program, line)]


def _compiled(program: Program) -> Iterator[str]:
    """Names of functions that the program compiles."""
    for node in (each for statement in program for each in statement.nodes):
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(by) for by in node.decorator_list):
            yield node.name
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func).rpartition(".")[2] in ("jit", "filter_jit", "pmap")
        ):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def _reached(statement: Statement, number: int, program: Program) -> bool:
    running = {at for each in program for at in each.running or ()}
    first, last = statement.span(_innermost(statement, number, _FUNCTIONS))
    inside = [at for at in running if first <= at <= last and _same(statement, at, number)]
    if not inside or number <= max(inside):
        return True
    loops = (statement.span(node) for node in statement.nodes if isinstance(node, ast.For | ast.While))
    return any(low <= number <= high and any(low <= at <= high for at in inside) for low, high in loops)


def _same(statement: Statement, one: int, other: int) -> bool:
    """Whether two lines stand in the same function."""
    return _innermost(statement, one, _FUNCTIONS) is _innermost(statement, other, _FUNCTIONS)


def _innermost(statement: Statement, number: int, kinds: tuple[type[ast.AST], ...]) -> ast.AST:
    nodes = [statement.node, *_within(statement, number, kinds)]
    return nodes[-1]


def _within(statement: Statement, number: int, kinds: tuple[type[ast.AST], ...]) -> Iterator[ast.AST]:
    """The nodes of these kinds around a line, the outermost first."""
    for node in statement.nodes:
        first, last = statement.span(node) if isinstance(node, kinds) else (1, 0)
        if first <= number <= last:
            yield node
