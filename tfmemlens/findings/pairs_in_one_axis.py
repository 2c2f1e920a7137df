"""Every row is joined with every other, and the pairs stand in one axis.

What it means: `tf.repeat(x, n, axis=0)` beside `tf.tile(x, [n, 1])` makes n x n rows of n. The number of rows
in the message is the square of another, and no batch.
When it fires: the first or second side of the tensor that failed is a square of at least 128, and the
program's function whose line failed both repeats and tiles an array.
What to do: apply to each row what is applied to a pair, and add the two by broadcasting, where it is linear;
else pairs that are linked alone, or blocks of rows.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.stack_frames import user_frame
from tfmemlens.knowledge.tree_values import last_name
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program, Statement
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held ones of the same size"

_REPEATS, _TILES = frozenset({"repeat", "repeat_elements"}), frozenset({"tile"})
_LEAST_ROWS, _LEAST_BYTES = 128, 16 * MIB
_LINKED = regex(r"(?i)\badj\w*\b|\bedges?\b|\bmask\b")


class _Pairs(NamedTuple):
    """The lines that repeat and that tile, and whether the function knows which pairs are linked."""

    repeats: Line
    tiles: Line
    linked: bool


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        need, rows = request.failed.tensor_bytes, _rows(request.failed.shape or ())
        if not need or need < _LEAST_BYTES or rows is None:
            continue
        pairs = _pairs(case.capture.surroundings.program(), request)
        if pairs is None:
            continue
        what = (
            f"every one of {rows:,} rows stands with every other, {rows * rows:,} rows in all:"
            f" {pairs.repeats.place} repeats them and {pairs.tiles.place} tiles them; this grows with the"
            " square of the rows, which are no batch"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=alike(moment),
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                Evidence("each row many times", pairs.repeats),
                Evidence("all rows many times", pairs.tiles),
            ),
            remedies=tuple(_remedies(rows, need, pairs)),
            moment=index,
            rules_out=("smaller-batch", "batch-for-the-block", "smaller-input"),
        )


def _rows(shape: Sequence[int | None]) -> int | None:
    """The rows of which a first or second side is the square."""
    roots = [math.isqrt(side or 0) for side in shape[:2]]
    squares = (root for root, side in zip(roots, shape, strict=False) if root * root == side)
    return next((root for root in squares if root >= _LEAST_ROWS), None)


def _remedies(rows: int, need: int, pairs: _Pairs) -> Iterator[Remedy]:
    yield Remedy(
        "make no pairs where a pair goes into one product (a score of two halves): score each row by itself,"
        f" and add the two by broadcasting, [{rows},1] + [1,{rows}], which is {human(4 * rows * rows)}",
        "e = tf.matmul(h, a[:d]) + tf.transpose(tf.matmul(h, a[d:]))   # a: [2 * d, 1], d: a row's width",
        need,
        Certainty.BOUND,
        slug="matrix-product",
    )
    if pairs.linked:
        yield Remedy(
            "or make the linked pairs alone: gather the rows of both ends of each edge",
            "ends = tf.where(adj > 0); both = tf.concat([tf.gather(h, ends[:, 0]), tf.gather(h, ends[:, 1])],"
            " 1)",
            slug="sparse-product",
        )
    yield Remedy(
        "or go through the rows in blocks, and reduce each block's pairs before the next",
        slug="in-blocks",
    )


def _pairs(program: Program, request: Request) -> _Pairs | None:
    """Where the function whose line failed repeats and tiles."""
    failed = request.failed
    texts = {frame.text.strip() for frame in failed.frames if user_frame(frame.place) and frame.text}
    texts |= {failed.source_text.strip()} if failed.source_text else set()
    for statement in program if texts else ():
        for node in statement.nodes:
            if not isinstance(node, ast.FunctionDef) or not _holds(statement, node, texts):
                continue
            repeats, tiles = (_line_of(statement, node, names) for names in (_REPEATS, _TILES))
            if repeats and tiles:
                around = " ".join(line.text for line in statement.lines)
                return _Pairs(repeats, tiles, _LINKED.search(around) is not None)
    return None


def _holds(statement: Statement, function: ast.FunctionDef, texts: set[str]) -> bool:
    lines = statement.lines[function.lineno - 1 : function.end_lineno]
    return any(line.text.strip() in texts for line in lines)


def _line_of(statement: Statement, function: ast.FunctionDef, names: frozenset[str]) -> Line | None:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return next((statement.line_of(each) for each in calls if last_name(each.func) in names), None)
