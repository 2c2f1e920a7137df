"""Tensors of a program that a line joins to themselves in each step: `self.bank = tf.concat([k, self.bank])`.

A network that joins its maps does so within one pass (DenseNet), and makes them anew in the next. What stays
is an attribute that no other method sets, a global name, or a name of a loop over steps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.knowledge.kept_results import OF_A_LAYER
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.patterns import regex

_JOINS = ("concat", "concatenate", "vstack", "hstack", "append")
_MAKES = ("__init__", "build", "setup")
_OF_STEPS = regex(r"(?i)step|epoch|batch|iter|round|episode|update|train|loader|dataset|\bds\b")
_ROWS = (None, 0, 1)
"""The axes along which rows are added; others join channels."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Place(NamedTuple):
    """Where a statement stands."""

    function: Function | None
    loop: ast.For | ast.While | None


def joined_over_steps(program: Program) -> Iterator[tuple[str, Line]]:
    """The names that grow from step to step, with the lines that join them; none that something cuts or sets
    anew.
    """
    placed = [
        (statement, node, place)
        for statement in program
        for node, place in _assignments(statement.node, _Place(None, None))
    ]
    for statement, node, place in placed:
        name = _joined(node)
        if name is None or not _stays(name, place):
            continue
        others = [each for _, each, at in placed if each is not node and _sets(each, name, at)]
        if not others:
            yield name, statement.line_of(node)


def _assignments(node: ast.AST, place: _Place) -> Iterator[tuple[ast.stmt, _Place]]:
    if isinstance(node, ast.Assign | ast.Expr):
        yield node, place
    if isinstance(node, Function):
        place = _Place(node, None)
    elif isinstance(node, ast.For | ast.While):
        place = _Place(place.function, node)
    for child in ast.iter_child_nodes(node):
        yield from _assignments(child, place)


def _joined(node: ast.stmt) -> str | None:
    """The name that a statement assigns a concatenation with itself."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "assign"
        and node.value.args
    ):
        target, value = node.value.func.value, node.value.args[0]
    else:
        return None
    if not (isinstance(target, ast.Name | ast.Attribute) and isinstance(value, ast.Call)):
        return None
    name = ast.unparse(target)
    if last_name(value.func) not in _JOINS or not value.args:
        return None
    first = value.args[0]
    parts = first.elts if isinstance(first, ast.List | ast.Tuple) else value.args[:1]
    axes = [each.value for each in value.keywords if each.arg == "axis"] or value.args[1:2]
    axis = _number(axes[0]) if axes and parts is not value.args[:1] else None
    return name if axis in _ROWS and any(ast.unparse(each) == name for each in parts) else None


def _number(node: ast.expr) -> int | None:
    """A whole number that stands as such, below zero, too."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        below = _number(node.operand)
        return None if below is None else -below
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) else None


def _stays(name: str, place: _Place) -> bool:
    """Whether what it holds is there in the next step."""
    function = place.function
    if function is not None and function.name in OF_A_LAYER:
        return False
    if "." in name:
        return True
    declared = function is not None and any(
        name in each.names for each in ast.walk(function) if isinstance(each, ast.Global | ast.Nonlocal)
    )
    if declared or place.loop is None:
        return declared
    loop = place.loop
    over = loop.test if isinstance(loop, ast.While) else ast.Tuple([loop.target, loop.iter], ast.Load())
    return bool(_OF_STEPS.search(ast.unparse(over)))


def _sets(node: ast.stmt, name: str, place: _Place) -> bool:
    """Whether it gives the name another value, but for the first: in the loop, or in another method."""
    if not isinstance(node, ast.Assign) or name not in map(ast.unparse, node.targets):
        return False
    if "." in name:
        return place.function is not None and place.function.name not in _MAKES
    return place.loop is not None
