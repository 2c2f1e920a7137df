"""An array of a JAX program that grows in each turn of a loop, and a value for each pair of its rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.findings.support.jax_code import IN_BLOCKS
from tfmemlens.findings.support.jax_stack import LEAST_BYTES, MadeByLine
from tfmemlens.knowledge.tree_values import dotted
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Basis, Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.units import square_side

_JOINS = frozenset({"concatenate", "append", "vstack", "hstack", "concat", "r_"})
_DTYPES = ((4, "float32"), (8, "float64"))
_LEAST_ROWS = 2000
_BOUNDED = Remedy(
    "keep a bounded number of its rows (the newest, the best, or inducing points): then the pairs stay as"
    " many, and one shape is compiled once",
    slug="bounded-history",
)


def grown_pairs(told: Surroundings, need: int) -> MadeByLine | None:
    """The pairs of rows of an array that a loop of the program makes longer, where the request is a square of
    as many rows; squares of powers of two are so by chance.
    """
    if need < LEAST_BYTES:
        return None
    rows, dtype = next(((side, name) for item, name in _DTYPES if (side := _side(need, item))), (0, ""))
    grown = next(_grown(told.program()), None) if rows else None
    if grown is None:
        return None
    name, line = grown
    return MadeByLine(
        f"`{name}` grows in each turn of a loop ({line.place}), and a value for each pair of its rows is"
        f" made: {rows:,} x {rows:,} {dtype}, the request to the byte",
        (_BOUNDED, IN_BLOCKS),
        Basis.SHAPE,
        line=line,
    )


def _side(need: int, item: int) -> int | None:
    side = square_side(need, item)
    return side if side and side >= _LEAST_ROWS and side & (side - 1) else None


def _grown(program: Program) -> Iterator[tuple[str, Line]]:
    """Names that a loop joins something to, and gives to one call twice: `k(archive, archive)`."""
    for statement in program:
        for loop in statement.nodes:
            if not isinstance(loop, ast.For | ast.While):
                continue
            paired = {name for call in ast.walk(loop) for name in _twice(call)}
            for node in ast.walk(loop):
                if isinstance(node, ast.Assign) and (name := _joined(node)) in paired and name:
                    yield name, statement.line_of(node)


def _twice(call: ast.AST) -> set[str]:
    names = (
        [each.id for each in call.args if isinstance(each, ast.Name)] if isinstance(call, ast.Call) else []
    )
    return {name for name in names if names.count(name) > 1}


def _joined(node: ast.Assign) -> str | None:
    """`x` of `x = jnp.concatenate([x, more])`."""
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return None
    if dotted(value.func).rpartition(".")[2] not in _JOINS:
        return None
    inside = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    return target.id if target.id in inside else None
