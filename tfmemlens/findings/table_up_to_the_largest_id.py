"""An embedding has a row up to the largest id, whether the ids between occur or not.

What it means: `Embedding(ids.max() + 1, dim)` has a row for each number up to the largest. Ids of places,
users or articles have gaps: of two million numbers a few thousand may occur, and weight, gradient and slots
have them all.
When it fires: the program takes the largest of an array for the number of an embedding's rows, and what
failed has 50,000 rows and more.
What to do: number the ids that occur, which changes nothing else; hash them only where they are that many.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfmemlens.findings.support.rows import all_in_use, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.values import dataclass

BASIS = Basis.SHAPE
EXPLAINS = "the table that failed, and what is in use beside it"

_LEAST_ROWS = 50_000
_TABLES = ("Embedding", "get_variable", "Variable", "add_weight", "embed_sequence")


@dataclass(frozen=True, slots=True)
class LargestId:
    """The line that counts rows by the largest id, and the ids."""

    line: Line
    ids: str
    table: Line


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        shape = request.failed.shape or ()
        if not shape or len(shape) > 2 or (shape[0] or 0) < _LEAST_ROWS:
            continue
        found = largest_id(case.capture.surroundings.program())
        if found is None:
            continue
        need = request.needed_bytes or 0
        what = (
            f"the table of {found.table.place} has a row for each number up to the largest id"
            f" ({found.line.place}), {shape[0]:,} rows, whether these ids occur or not"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=need + all_in_use(moment),
            evidence=(
                Evidence("rows by the largest id", found.line),
                Evidence("the table", found.table),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(
                Remedy(
                    f"see how many ids occur, and number these alone: where `{found.ids}` has gaps, the table"
                    " has as many rows as there are ids, and learns the same (keep `known` for new data)",
                    f"known, {_short(found.ids)} = np.unique({found.ids}, return_inverse=True)   # rows:"
                    " len(known)",
                    slug="number-the-ids",
                ),
            ),
            moment=index,
            rules_out=("smaller-batch",),
        )


def _short(ids: str) -> str:
    """A name to assign to."""
    return ids if ids.replace(".", "").replace("_", "").isalnum() else "ids"


def largest_id(program: Program) -> LargestId | None:
    """The line that takes the largest of an array, where an embedding of the program has so many rows."""
    if not any("max(" in line.text for each in program for line in each.lines):
        return None
    sizes = {name: (line, ids) for name, line, ids in _largest(program)}
    for statement in program:
        for call in statement.nodes:
            if not isinstance(call, ast.Call) or last_name(call.func) not in _TABLES:
                continue
            words = [each.value for each in call.keywords if each.arg in ("input_dim", "shape", "vocab_size")]
            given = [*call.args[:2], *words]
            firsts = [
                each.elts[0] if isinstance(each, ast.List | ast.Tuple) and each.elts else each
                for each in given
            ]
            for each in firsts:
                plain = each.left if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add) else each
                if (known := sizes.get(last_name(plain))) is not None:
                    return LargestId(known[0], known[1], statement.line_of(call))
                if (ids := _ids_of(each)) is not None:
                    return LargestId(statement.line_of(call), ids, statement.line_of(call))
    return None


def _largest(program: Program) -> Iterator[tuple[str, Line, str]]:
    """Names that are given the largest of an array, or one more."""
    for statement in program:
        for node in statement.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                ids = _ids_of(node.value)
                if ids is not None and (name := last_name(node.targets[0])):
                    yield name, statement.line_of(node), ids


def _ids_of(value: ast.expr) -> str | None:
    """`site` of `int(site.max()) + 1`, `np.max(site) + 1` and `max(site) + 1`; None of another value."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        value = value.left
    while isinstance(value, ast.Call) and last_name(value.func) in ("int", "int32", "int64") and value.args:
        value = value.args[0]
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            value = value.left
    if not isinstance(value, ast.Call) or last_name(value.func) not in ("max", "amax", "reduce_max"):
        return None
    if isinstance(value.func, ast.Attribute) and not value.args:
        return ast.unparse(value.func.value)
    return ast.unparse(value.args[0]) if len(value.args) == 1 else None
