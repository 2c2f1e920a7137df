"""Names and sizes in the syntax trees of a program."""

from __future__ import annotations

import ast
from typing import Any


def dotted(node: ast.expr) -> str:
    """`tf.layers.dense` of a function's expression; empty of another kind."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def known_sizes(shape: Any) -> tuple[int, ...]:
    """A shape whose every size is known; empty otherwise."""
    if not isinstance(shape, tuple) or not shape:
        return ()
    return shape if all(isinstance(size, int) and not isinstance(size, bool) for size in shape) else ()


def computed(op: ast.operator, left: Any, right: Any) -> int | None:
    """Arithmetic on whole numbers, as far as sizes go; None where nothing tells."""
    if not (isinstance(left, int) and isinstance(right, int)) or max(abs(left), abs(right)) > 1 << 50:
        return None
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    if isinstance(op, ast.Mult):
        return left * right
    if isinstance(op, ast.FloorDiv) and right:
        return left // right
    if isinstance(op, ast.Pow) and 0 <= right <= 40 and abs(left) <= 16:
        return int(left**right)
    return None
