"""A table that is transformed whole before a few of its rows are looked up."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tfmemlens.findings.support.on_the_way.code import (
    Assigned,
    CodePart,
    argument,
    failed_at,
    is_call,
    parts,
)
from tfmemlens.findings.support.on_the_way.facts import OnTheWay
from tfmemlens.findings.support.program_lines import figures_by_name
from tfmemlens.findings.support.rows import rows, total
from tfmemlens.knowledge.tree_values import last_name, written_number
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import MIB, human

_VARIABLES = ("get_variable", "Variable", "add_weight", "Embedding")
_LOOKUPS = ("embedding_lookup", "gather", "gather_nd")
_OF_EACH_ROW = frozenset(
    """
    cast dense dropout elu gelu l2_normalize layer_norm layer_normalization leaky_relu matmul multiply
    normalize relu scalar_mul sigmoid softplus square tanh to_float unit_norm
    """.split()
)
"""What computes each row of its result of that row of the table alone."""
_LEAST_ROWS = 4096
_FLOAT = 4
_RULED_OUT = (
    *("smaller-batch", "gradient-accumulation", "smaller-table", "smaller-vocabulary", "table-on-host"),
    *("keep-slices", "sparse-updates", "lower-constant", "batch-for-the-block", "log-allocations"),
    *("lower-setting", "report-at-oom", "half-precision", "smaller-input"),
)


class _Transformed(NamedTuple):
    table: str
    made: Assigned
    """The whole table transformed."""
    function: str
    lookup: Line
    ids: str
    code: str
    other: str = ""
    """The table whose rows all are multiplied with all of the first."""


def transformed_whole(case: Case, program: Program, moment: Moment, request: Request) -> OnTheWay | None:
    """The transform of the whole table that failed, or its gradient."""
    many = (request.failed.shape or (0,))[0] or 0
    tables = _tables(program) if many >= _LEAST_ROWS else {}
    found = [each for part in parts(program) for each in _transformed(part, tables)] if tables else []
    if not found:
        return None
    numbers = figures_by_name(case.capture.surroundings)
    sizes = {name: _size(call, numbers) for name, call in tables.items()}
    here = [each for each in found if _agrees(each, sizes[each.table], many, request)]
    return _told(moment, here, sizes[here[0].table]) if len({each.table for each in here}) == 1 else None


def _agrees(each: _Transformed, size: tuple[int, int] | None, many: int, request: Request) -> bool:
    return size[0] == many if size else failed_at(request, each.made.line)


def _tables(program: Program) -> dict[str, ast.Call]:
    """The program's variables by their names, with the calls that make them."""
    return {
        ast.unparse(node.targets[0]): node.value
        for statement in program
        if not statement.of_frame
        for node in statement.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if is_call(node.value, *_VARIABLES)
    }


def _size(call: ast.Call, numbers: Mapping[str, int]) -> tuple[int, int] | None:
    """Rows and width of a variable, by the figures or settings of its call; None where these are others."""
    for node in (call, *(each for each in ast.walk(call) if isinstance(each, (ast.List, ast.Tuple)))):
        sides = node.args if isinstance(node, ast.Call) else node.elts
        known = [written_number(each) or numbers.get(last_name(each)) for each in sides]
        if len(known) >= 2 and known[0] and known[1] and (len(known) == 2 or node is call):
            return known[0], known[1]
    return None


def _transformed(part: CodePart, tables: dict[str, ast.Call]) -> Iterator[_Transformed]:
    for made in part.assigned():
        table = _table_in(made.value, tables)
        if table is None:
            continue
        for call, line in part.calls():
            if not is_call(call, *_LOOKUPS) or len(call.args) < 2 or line.number <= made.line.number:
                continue
            if ast.unparse(call.args[0]) != made.name:
                continue
            ids = ast.unparse(call.args[1])
            function = last_name(made.value.func) if isinstance(made.value, ast.Call) else "*"
            other = _other_table(made.value, tables)
            code = _of_pairs(table, other, call) if other else ""
            yield _Transformed(
                table, made, function, line, ids, code or _of_rows_alone(made.value, call), other
            )


def _of_rows_alone(value: ast.expr, lookup: ast.Call) -> str:
    """The transform with the table's rows in the place of the table."""
    changed = copy.deepcopy(value)
    table = changed.left if isinstance(changed, ast.BinOp) else changed.args[0]  # type: ignore[attr-defined]
    rows_of = ast.Call(lookup.func, [table, lookup.args[1]], [])
    if isinstance(changed, ast.BinOp):
        changed.left = rows_of
    elif isinstance(changed, ast.Call):
        changed.args[0] = rows_of
    return ast.unparse(changed)


def _other_table(value: ast.expr, tables: Mapping[str, ast.Call]) -> str:
    """The table whose every row is multiplied with every row of the first; empty of another transform."""
    if isinstance(value, ast.BinOp):
        second = value.right if isinstance(value.op, ast.MatMult) else None
    else:
        product = isinstance(value, ast.Call) and last_name(value.func) == "matmul" and len(value.args) > 1
        second = value.args[1] if product and isinstance(value, ast.Call) else None
    while isinstance(second, ast.Call) and second.args and last_name(second.func) == "transpose":
        second = second.args[0]
    name = ast.unparse(second).removesuffix(".T") if second is not None else ""
    return name if name in tables else ""


def _of_pairs(table: str, other: str, lookup: ast.Call) -> str:
    """The scores of the pairs that `gather_nd(scores, stack([u, v], 1))` reads; empty of another lookup."""
    ids = lookup.args[1]
    stacked = (
        ids.args[0] if isinstance(ids, ast.Call) and ids.args and last_name(ids.func) == "stack" else None
    )
    if (
        last_name(lookup.func) != "gather_nd"
        or not isinstance(stacked, ast.List)
        or len(stacked.elts) != _PAIR
    ):
        return ""
    first, second = map(ast.unparse, stacked.elts)
    return f"tf.reduce_sum(tf.gather({table}, {first}) * tf.gather({other}, {second}), axis=-1)"


_PAIR = 2


def _table_in(value: ast.expr, tables: dict[str, ast.Call]) -> str | None:
    """The table that a transform of each row reads whole."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div, ast.MatMult)):
        given = ast.unparse(value.left)
    elif isinstance(value, ast.Call) and value.args and last_name(value.func) in _OF_EACH_ROW:
        if last_name(value.func) in ("l2_normalize", "normalize") and not _of_rows(value):
            return None
        given = ast.unparse(value.args[0])
    else:
        return None
    given = given.removesuffix(".embeddings")
    return given if given in tables else None


def _of_rows(call: ast.Call) -> bool:
    """Whether it works along each row: the last axis, or one that nobody sees."""
    axis = argument(call, 1, "axis", "dim")
    return axis is None or ast.unparse(axis) in ("1", "-1", "[1]", "[-1]")


def _told(moment: Moment, found: list[_Transformed], size: tuple[int, int] | None) -> OnTheWay:
    first = found[0]
    whole = size[0] * size[1] * _FLOAT if size else None
    lookups = "the lookup" if len(found) == 1 else f"{len(found)} lookups"
    place = f"{first.lookup.place}" if len(found) == 1 else f"{first.lookup.place} on"
    large = f" ({human(whole)})" if whole else ""
    function = f"`{first.function}`" if first.function != "*" else "a product"
    shape = moment.request.failed.shape if moment.request else None
    if first.other:
        what = (
            f"{first.made.line.place} multiplies all rows of `{first.table}` with all of `{first.other}`"
            f" ({format_shape(shape)}) before {lookups} ({place}) of a few of these products, and the"
            " gradient of each table becomes a whole table"
        )
        advice = "look the rows of both tables up first, and multiply these alone: the result is the same"
    else:
        what = (
            f"{first.made.line.place} computes {function} of the whole table `{first.table}`{large} before"
            f" {lookups} ({place}): what is made on the way is as large as the table, and its gradient"
            " becomes a whole table, too, where a lookup's has the rows of the batch"
        )
        advice = (
            "look the rows up first, and transform these alone: nothing is as large as the table then but the"
            " table itself and its optimizer's slots"
        )
    held = 0
    if whole:
        held = total(rows(moment, lambda row: whole <= row.allocation.size_bytes)) - whole
    return OnTheWay(
        what,
        first.made.line,
        Remedy(
            f"{advice}; no smaller batch does that",
            first.code,
            slug="look-up-first",
        ),
        explains=max(held, 0) if whole and whole > MIB else None,
        rules_out=_RULED_OUT,
    )
