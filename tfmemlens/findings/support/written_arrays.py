"""What the turns of a loop write into a TensorArray of the program's, without a gradient to keep it for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfmemlens.knowledge.tree_values import last_name, names_of_calls
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program

_READS = frozenset({"stack", "concat", "gather", "read"})


class WrittenArray(NamedTuple):
    """A TensorArray that each turn writes into: its name, the line, and where it is read afterwards."""

    name: str
    line: Line
    read: Line | None


def written_array(program: Program, shape: Sequence[int | None] | None) -> WrittenArray | None:
    """The one that a value of such a shape is written into; None where several may be it."""
    written = list(_writes(program))
    if len(written) > 1 and shape:
        written = [each for each in written if _rank(each[1]) == len(shape)]
    if len({name for name, _, _ in written}) != 1:
        return None
    name, _, line = written[0]
    return WrittenArray(name, line, next(_reads(program, name), None))


def keeps_for_no_gradient(program: Program) -> bool:
    """Whether a loop of the program's is told that no gradient is taken through it."""
    return any(
        keyword.arg == "back_prop" and isinstance(keyword.value, ast.Constant) and not keyword.value.value
        for statement in program
        for node in statement.nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    )


def _writes(program: Program) -> Iterator[tuple[str, ast.expr, Line]]:
    """Calls `array.write(index, value)` of what the program makes as a TensorArray."""
    nodes = (node for statement in program for node in statement.nodes)
    arrays = names_of_calls(nodes, ("TensorArray",))
    for statement in program:
        for node in statement.nodes:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            name = last_name(node.func.value)
            if node.func.attr == "write" and len(node.args) == 2 and name in arrays:
                yield name, node.args[1], statement.line_of(node)


def _rank(value: ast.expr) -> int | None:
    """How many sides a value has that is brought to a shape where it is written; None of another."""
    if isinstance(value, ast.Call) and last_name(value.func) == "reshape" and len(value.args) > 1:
        sides = value.args[1]
        return len(sides.elts) if isinstance(sides, (ast.List, ast.Tuple)) else None
    return None


def _reads(program: Program, name: str) -> Iterator[Line]:
    for statement in program:
        for node in statement.nodes:
            method = node.func if isinstance(node, ast.Call) else None
            if (
                isinstance(method, ast.Attribute)
                and method.attr in _READS
                and last_name(method.value) == name
            ):
                yield statement.line_of(node)
