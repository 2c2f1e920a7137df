"""Where a program gives weights or optimizer state to every device whole: a sharding without an axis, written
out or by the name that it has.
"""

from __future__ import annotations

import ast

from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_SPECS = frozenset({"P", "PS", "PartitionSpec"})
_OF_WEIGHTS = regex(
    r"(?i)(?<![a-z])(?:\w*_)?(?:params?|states?|weights?|variables|model|optimizer|opt|tx)(?![a-z])"
)


def placed_whole(told: Surroundings) -> Line | None:
    """The line that places weights or state without an axis; None where none does."""
    if line := told.shows("replicating weights"):
        return line
    program = list(told.program())
    names = {
        target.id
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Assign) and _is_whole(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for statement in program if names else ():
        for node in statement.nodes:
            if not isinstance(node, ast.Assign):
                continue
            calls = (each for each in ast.walk(node.value) if isinstance(each, ast.Call))
            whole = any(last_name(each.func) == "device_put" and _given(each) in names for each in calls)
            if whole and _OF_WEIGHTS.search(ast.unparse(node)):
                return statement.line_of(node)
    return None


def _is_whole(node: ast.expr) -> bool:
    """Whether it is `NamedSharding(mesh, P())`."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "NamedSharding" or len(node.args) != 2:
        return False
    spec = node.args[1]
    return isinstance(spec, ast.Call) and last_name(spec.func) in _SPECS and not (spec.args or spec.keywords)


def _given(call: ast.Call) -> str | None:
    """The name of the sharding that `device_put` is given."""
    named = [each.value for each in call.keywords if each.arg in ("device", "sharding")]
    where = call.args[1] if len(call.args) > 1 else next(iter(named), None)
    return where.id if isinstance(where, ast.Name) else None
