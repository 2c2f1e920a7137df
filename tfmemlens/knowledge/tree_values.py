"""Names and sizes in the syntax trees of a program."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
"""Powers are left out: their results have no bound."""
COMPARES: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def dotted(node: ast.expr) -> str:
    """`tf.layers.dense` of a function's expression; empty of another kind."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def last_name(node: ast.AST) -> str:
    """`jit` of `jax.jit` and of `jit`; empty of another kind."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def written_number(node: ast.AST | None) -> int | None:
    """A whole number that is written, below zero, too: 3 of `3`, -1 of `-1`; None of anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = written_number(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def asks_command_line(test: ast.expr) -> bool:
    """Whether a condition is about `sys.argv`: where it is unknown, nothing is stated there."""
    return "argv" in ast.unparse(test)


def names_of_calls(nodes: Iterable[ast.AST], called: Collection[str]) -> set[str]:
    """The names that are assigned what a call of one of these gives: `w` of `self.w = Variable(...)`."""
    return {
        last_name(target)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if last_name(node.value.func) in called
        for target in node.targets
    } - {""}


def known_sizes(shape: Any) -> tuple[int, ...]:
    """A shape whose every size is known; empty otherwise."""
    if not isinstance(shape, tuple) or not shape:
        return ()
    return shape if all(isinstance(size, int) and not isinstance(size, bool) for size in shape) else ()
