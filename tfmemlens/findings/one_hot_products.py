"""Rows are picked, or summed up, by a product with a matrix of one-hot rows.

What it means: `tf.matmul(tf.one_hot(src, n), h)` picks rows of `h`, and the same transposed adds rows up by
their place: edges of a graph, tokens of words, samples of groups. The matrix has as many columns as there are
rows to pick from, in each layer, and a tape keeps it.
When it fires: the program makes one-hot rows under a name and multiplies by them; and the line that makes
them failed, or what failed is less than a twentieth of the limit, and blocks of 8 MiB and more are a fifth of
what is in use.
What to do: pick by `tf.gather`, and add up by `tf.math.unsorted_segment_sum`: both give the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from tfmemlens.findings.support.rows import (
    all_in_use,
    attributed,
    device_limit,
    enumerated,
    requests,
    rows,
    total,
)
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.units import MIB, human
from tfmemlens.values import dataclass

BASIS = Basis.NAME
EXPLAINS = "the request, or the largest blocks that are alike"

_BYSTANDER, _SHARE, _LEAST_BLOCK = 0.05, 0.2, 8 * MIB
_PAIR = 2


@dataclass(frozen=True, slots=True)
class OneHotProduct:
    """A matrix of one-hot rows, and the product with it."""

    made: Line
    product: Line
    instead: str
    """What gives the same, as code."""


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        if request.fixed or attributed(moment):
            continue
        found = one_hot_products(case.capture.surroundings.program())
        told = _agrees(case, moment, request, found) if found else None
        if told is not None:
            yield _finding(index, request, found, *told)


@lru_cache(maxsize=2)
def one_hot_products(program: Program) -> tuple[OneHotProduct, ...]:
    """All products with a matrix of one-hot rows that goes by a name, in the order of the program."""
    found = []
    outside: dict[str, tuple[ast.Call, Line]] = {}
    """What stands in no function: its statements follow each other."""
    for statement in program:
        functions: list[ast.AST] = [each for each in statement.nodes if isinstance(each, ast.FunctionDef)]
        for scope in functions or [statement.node]:
            own = {name: (call, statement.line_of(call)) for name, call in _named(scope)}
            outside |= {} if functions else own
            rows_of = own if functions else outside
            for product in ast.walk(scope):
                instead = _instead(product, {name: call for name, (call, _) in rows_of.items()})
                if instead:
                    name, code = instead
                    found.append(OneHotProduct(rows_of[name][1], statement.line_of(product), code))
    return tuple(dict.fromkeys(found))


def _named(scope: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        makes = isinstance(value, ast.Call) and last_name(value.func) == "one_hot" and bool(value.args)
        if isinstance(target, ast.Name) and isinstance(value, ast.Call) and makes:
            yield target.id, value


def _instead(node: ast.AST, rows_of: dict[str, ast.Call]) -> tuple[str, str] | None:
    """The matrix by its name, and what gives the same as a product with it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        first, second, flipped = node.left, node.right, False
    elif isinstance(node, ast.Call) and last_name(node.func) in ("matmul", "sparse_dense_matmul", "dot"):
        if len(node.args) < _PAIR:
            return None
        first, second = node.args[:2]
        flipped = any(each.arg in ("transpose_a", "adjoint_a") for each in node.keywords)
    else:
        return None
    if isinstance(first, ast.Call) and last_name(first.func) == "transpose" and len(first.args) == 1:
        first, flipped = first.args[0], True
    if not isinstance(first, ast.Name) or first.id not in rows_of:
        return None
    made = rows_of[first.id]
    ids, other = ast.unparse(made.args[0]), ast.unparse(second)
    if not flipped:
        return first.id, f"tf.gather({other}, {ids})"
    words = {each.arg: each.value for each in made.keywords}
    depth = made.args[1] if len(made.args) > 1 else words.get("depth", words.get("num_classes"))
    count = ast.unparse(depth) if depth is not None else "n"
    return first.id, f"tf.math.unsorted_segment_sum({other}, {ids}, {count})"


def _agrees(
    case: Case, moment: Moment, request: Request, found: tuple[OneHotProduct, ...]
) -> tuple[str, int] | None:
    """What of the failure such matrices may be: in words, and its bytes."""
    failed, need = request.failed, request.needed_bytes or 0
    texts = {failed.source_text or "", *(frame.text for frame in failed.frames)}
    shown = {text.strip() for text in texts}
    makes = any(each.made.text.strip() in shown for each in found)
    if makes and "OneHot" in (failed.node or failed.op or ""):
        return "what failed is one", need
    limit = device_limit(case, moment)
    if limit is None or need > _BYSTANDER * limit.bytes:
        return None
    large = rows(moment, lambda row: row.allocation.size_bytes >= _LEAST_BLOCK)
    held = total(large)
    if held < _SHARE * all_in_use(moment):
        return None
    count, most = sum(row.allocation.count for row in large), large[0].allocation
    return (
        f"most likely {'some' if count > 1 else 'one'} of the large blocks in use ({count}, {human(held)};"
        f" {most.count} of {human(most.size_bytes)}) are such matrices, where what failed is small",
        held,
    )


def _finding(
    index: int, request: Request, found: tuple[OneHotProduct, ...], agrees: str, held: int
) -> Finding:
    lines = list(dict.fromkeys(each.made for each in found))
    places = enumerated([each.place for each in lines[:3]])
    what = (
        f"{places} {'makes' if len(lines) == 1 else 'make'} a one-hot row as long as there are rows to pick"
        f" from, to multiply by ({found[0].product.place}): {agrees}"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=held,
        evidence=(
            *(Evidence("one-hot rows", each) for each in lines[:3]),
            Evidence("the request", request.failed.line),
        ),
        remedies=tuple(_remedies(found)),
        moment=index,
        rules_out=("smaller-batch", "batch-for-the-block"),
    )


def _remedies(found: tuple[OneHotProduct, ...]) -> Iterator[Remedy]:
    codes = list(dict.fromkeys(f"{each.instead}   # {each.product.place}" for each in found))
    sums = any("segment_sum" in each for each in codes)
    how = "pick the rows by index, and add them up by segment" if sums else "pick the rows by index"
    yield Remedy(
        f"{how}: the results are the same, and no matrix of one-hot rows is made",
        "\n".join(codes[:3]),
        slug="look-up-by-index",
    )
