"""What outlasts a call or a turn and keeps a list of it: an object that is made of the list is appended."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program

_OF_OBJECTS = frozenset({"dict", "tuple", "SimpleNamespace"})


class KeptThrough(NamedTuple):
    """The line that appends, what it appends to, and the line where the list goes into the object."""

    container: str
    line: Line
    name: str
    """What the list is called there."""
    made: Line


def kept_through(program: Program, container: str) -> KeptThrough | None:
    """Where an object that holds the list `container` is appended to something else."""
    nodes = [(node, each) for each in program if not each.of_frame for node in each.nodes]
    names = {container, *_returned_as([node for node, _ in nodes], container)}
    for node, statement in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if node.func.attr != "append" or (target := ast.unparse(node.func.value)) in names:
            continue
        given = node.args[0]
        if (name := _held(given, names)) is not None:
            return KeptThrough(target, statement.line_of(node), name, statement.line_of(given))
        for made, where in nodes if isinstance(given, ast.Name) else ():
            if not isinstance(made, ast.Assign) or last_name(made.targets[0]) != ast.unparse(given):
                continue
            if (name := _held(made.value, names)) is not None:
                return KeptThrough(target, statement.line_of(node), name, where.line_of(made))
    return None


def _held(value: ast.expr, names: set[str]) -> str | None:
    """The list that an object is made of: `Report(n, deltas)`, `{"maps": maps}`, `(loss, grads)`."""
    parts: list[ast.expr | None] = []
    if isinstance(value, ast.Dict):
        parts = [*value.values]
    elif isinstance(value, ast.Tuple):
        parts = [*value.elts]
    elif isinstance(value, ast.Call) and (
        last_name(value.func)[:1].isupper() or last_name(value.func) in _OF_OBJECTS
    ):
        parts = [*value.args, *(word.value for word in value.keywords)]
    found = (ast.unparse(part) for part in parts if isinstance(part, ast.Name | ast.Attribute))
    return next((name for name in found if name in names), None)


def _returned_as(nodes: list[ast.AST], container: str) -> Iterator[str]:
    """What callers name a list that a function returns, alone or at a place of a tuple."""
    for function in nodes:
        if not isinstance(function, ast.FunctionDef):
            continue
        for given in (each.value for each in ast.walk(function) if isinstance(each, ast.Return)):
            parts = given.elts if isinstance(given, ast.Tuple) else [given]
            places = [at for at, each in enumerate(parts) if each and ast.unparse(each) == container]
            for node in nodes if places else ():
                if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                    continue
                if last_name(node.value.func) != function.name:
                    continue
                target = node.targets[0]
                named = target.elts if isinstance(target, ast.Tuple) else [target]
                if len(named) == len(parts):
                    yield ast.unparse(named[places[0]])
