"""What a quoted program assigns and calls, function by function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Request
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Assigned:
    """A name, what it is assigned, and where."""

    name: str
    value: ast.expr
    line: Line


@dataclass(frozen=True, slots=True)
class CodePart:
    """A function of the program, or all that stands at its left edge."""

    function: ast.FunctionDef | None
    nodes: tuple[tuple[Statement, ast.AST], ...]

    def assigned(self) -> Iterator[Assigned]:
        """What names are assigned, in the order of lines."""
        found = [
            Assigned(ast.unparse(node.targets[0]), node.value, statement.line_of(node))
            for statement, node in self.nodes
            if isinstance(node, ast.Assign) and len(node.targets) == 1
        ]
        return iter(sorted(found, key=lambda each: each.line.number))

    def value_of(self, node: ast.expr, before: int) -> ast.expr:
        """What a name was assigned last above a line; another expression, or an unknown name, itself."""
        name = ast.unparse(node)
        values = [each.value for each in self.assigned() if each.name == name and each.line.number < before]
        return values[-1] if values else node

    def calls(self) -> Iterator[tuple[ast.Call, Line]]:
        """Every call, with its line."""
        for statement, node in self.nodes:
            if isinstance(node, ast.Call):
                yield node, statement.line_of(node)

    def reads(self, made: Assigned) -> list[tuple[ast.AST, Line]]:
        """Where an assigned name is read until it is assigned anew."""
        first = made.line.number
        again = (each.line.number for each in self.assigned() if each.name == made.name)
        last = next((number for number in again if number > first), None)
        return [
            (node, statement.line_of(node))
            for statement, node in self.nodes
            if isinstance(node, (ast.Name, ast.Attribute))
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node) == made.name
            and first < statement.line_of(node).number
            and (last is None or statement.line_of(node).number <= last)
        ]


def parts(program: Program) -> Iterator[CodePart]:
    """The functions of a program, then what stands in none; not the lines that a traceback quotes."""
    edge: list[tuple[Statement, ast.AST]] = []
    for statement in program.whole():
        functions = [each for each in statement.nodes if isinstance(each, ast.FunctionDef)]
        for function in functions:
            yield CodePart(function, tuple((statement, node) for node in ast.walk(function)))
        if not isinstance(statement.node, (ast.FunctionDef, ast.ClassDef)):
            edge += [(statement, node) for node in statement.nodes]
    yield CodePart(None, tuple(edge))


def argument(call: ast.Call, at: int, *names: str) -> ast.expr | None:
    """What a call is given at a place, or by one of these names."""
    named = next((each.value for each in call.keywords if each.arg in names), None)
    return named or (call.args[at] if len(call.args) > at else None)


def is_call(node: ast.AST | None, *names: str) -> bool:
    """Whether it calls a function of one of these names."""
    return isinstance(node, ast.Call) and last_name(node.func) in names


def failed_at(request: Request, *lines: Line) -> bool:
    """Whether the traceback goes through one of these lines."""
    failed = request.failed
    texts = [failed.source_text or "", *(each.text for each in failed.frames)]
    texts += [failed.ran_by.text] if failed.ran_by else []
    shown = {text.strip() for text in texts} - {""}
    return any(line.text.strip() in shown for line in lines)
