"""A list that a function fills and joins itself: nothing keeps its pieces longer than a step."""

from __future__ import annotations

import ast
from functools import lru_cache

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program

_JOINS = ("stack", "concat", "concatenate", "add_n", "accumulate_n", "vstack", "hstack")


@lru_cache(maxsize=4)
def joined_where_made(program: Program, name: str) -> Line | None:
    """The line that joins the list of this name in the function that makes it; None where none does."""
    for statement in program:
        for function in statement.nodes:
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            inside = list(ast.walk(function))
            if not any(_makes(each, name) for each in inside):
                continue
            joins = [each for each in inside if _joins(each, name)]
            if joins:
                return statement.line_of(joins[0])
    return None


def _makes(node: ast.AST, name: str) -> bool:
    """Whether it is `name = []`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List) or node.value.elts:
        return False
    return any(isinstance(each, ast.Name) and each.id == name for each in node.targets)


def _joins(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call) or last_name(node.func) not in _JOINS:
        return False
    given = [*node.args[:1], *(each.value for each in node.keywords)]
    return any(isinstance(each, ast.Name) and each.id == name for each in given)
