"""Tensors of a program that a line joins to themselves in each step: `self.bank = tf.concat([k, self.bank])`.

A network that joins its maps does so within one pass (DenseNet), and makes them anew in the next. What stays
is an attribute that no other method sets, a global name, a name of a loop over steps, or a variable that is
assigned its own value with more rows: `tf.assign(bank, tf.concat([value, x], 0))` with `value = bank + 0`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tfmemlens.knowledge.kept_results import OF_A_LAYER
from tfmemlens.knowledge.tree_values import last_name, written_number
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex

_JOINS = ("concat", "concatenate", "vstack", "hstack", "append")
_MAKES = ("__init__", "build", "setup")
_OF_STEPS = regex(r"(?i)step|epoch|batch|iter|round|episode|update|train|loader|dataset|\bds\b")
_SAME_ROWS = frozenset(
    {"identity", "reshape", "read_value", "value", "convert_to_tensor", "cast", "stop_gradient"}
)
"""Calls whose result has all rows of what they are given."""
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
    found: set[str] = set()
    for statement, node, place in placed:
        name = _joined(node)
        if name is None or not _stays(name, place):
            continue
        others = [each for _, each, at in placed if each is not node and _sets(each, name, at)]
        if not others:
            found.add(name)
            yield name, statement.line_of(node)
    yield from (each for each in _variables_over_steps(program) if each[0] not in found)


def _variables_over_steps(program: Program) -> Iterator[tuple[str, Line]]:
    """The variables that are assigned their own value with more rows; none that is also assigned another."""
    nodes = [(statement, node) for statement in program for node in ast.walk(statement.node)]
    stands_for = {
        each.id: source
        for _, node in nodes
        if isinstance(node, ast.Assign) and (source := _value_of(node.value))
        for each in node.targets
        if isinstance(each, ast.Name)
    }
    updates = [
        (statement, node, *update)
        for statement, node in nodes
        if isinstance(node, ast.Call) and (update := _update(node)) is not None
    ]
    made = _made_and_kept(nodes)
    grown = [
        (statement, node, name)
        for statement, at, name, value in updates
        for node, joined in ((at, value), *made.get(ast.unparse(value), ()))
        if any(_stands_for(part, name, stands_for) for part in _parts(joined))
    ]
    many = [name for _, _, name, _ in updates]
    for statement, node, name in grown:
        if many.count(name) == 1:
            yield name, statement.line_of(node)


def _made_and_kept(nodes: Sequence[tuple[Statement, ast.AST]]) -> dict[str, list[tuple[ast.AST, ast.expr]]]:
    """By a name the statements that give it its value; none of a name that something cuts, other than what a
    switch of the program leaves out.
    """
    left_out = {
        id(each)
        for _, node in nodes
        if isinstance(node, ast.If) and _is_off(node, nodes)
        for each in ast.walk(node)
    }
    given: dict[str, list[tuple[ast.AST, ast.expr]]] = {}
    for _, node in nodes:
        if isinstance(node, ast.Assign) and id(node) not in left_out:
            for target in node.targets:
                for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                    given.setdefault(ast.unparse(name), []).append((node, node.value))
    return {name: values for name, values in given.items() if len(values) == 1}


def _is_off(node: ast.If, nodes: Sequence[tuple[Statement, ast.AST]]) -> bool:
    """Whether a condition is a switch that the program sets to nothing: `CAP = 0`, `getenv("CAP")`."""
    if not isinstance(node.test, ast.Name) or node.orelse:
        return False
    name = node.test.id
    values = [
        each.value
        for _, each in nodes
        if isinstance(each, ast.Assign) and any(ast.unparse(target) == name for target in each.targets)
    ]
    return len(values) == 1 and _is_nothing(values[0])


def _is_nothing(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return not value.value or value.value == "0"
    if (
        isinstance(value, ast.Call)
        and last_name(value.func) in ("int", "bool", "get", "getenv")
        and value.args
    ):
        read = last_name(value.func) in ("get", "getenv")
        return (len(value.args) == 1 and read) or _is_nothing(value.args[-1])
    return False


def _update(call: ast.Call) -> tuple[str, ast.expr] | None:
    """The variable that `tf.assign(v, value)` or `v.assign(value)` changes, and the value."""
    if last_name(call.func) != "assign" or not call.args:
        return None
    if len(call.args) > 1:
        return ast.unparse(call.args[0]), call.args[1]
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (ast.unparse(owner), call.args[0]) if owner is not None else None


def _value_of(node: ast.expr) -> str:
    """The name whose rows a call gives back: `bank` of `tf.reshape(bank, [-1, 64])` and of `bank.value()`."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _SAME_ROWS:
        return ""
    given = node.args[0] if node.args else getattr(node.func, "value", None)
    return ast.unparse(given) if isinstance(given, ast.Name | ast.Attribute) else ""


def _stands_for(part: ast.expr, name: str, names: Mapping[str, str]) -> bool:
    told = ast.unparse(part)
    return name in (told, names.get(told), _value_of(part))


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
    return name if any(ast.unparse(each) == name for each in _parts(value)) else None


def _parts(value: ast.expr) -> Sequence[ast.expr]:
    """What a call joins along an axis of rows; empty where it is no such call."""
    if not isinstance(value, ast.Call) or last_name(value.func) not in _JOINS or not value.args:
        return ()
    first = value.args[0]
    listed = isinstance(first, ast.List | ast.Tuple)
    parts = first.elts if isinstance(first, ast.List | ast.Tuple) else value.args[:1]
    axes = [each.value for each in value.keywords if each.arg == "axis"] or value.args[1:2]
    axis = written_number(axes[0]) if axes and listed else None
    return parts if axis in _ROWS else ()


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
