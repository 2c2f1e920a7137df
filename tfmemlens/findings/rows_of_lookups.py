"""The gradients of several lookups of one table are put together, row by row.

What it means: each lookup's gradient comes as IndexedSlices, one row for each id that it looked up. Where a
step looks one table up more than once, TensorFlow concatenates the rows of all: as many as ids were looked
up in the step, each as wide as the table, however few of them are different.
When it fires: the op that failed is the `concat` of a gradient's own scope and makes a matrix of many rows.
What to do: look up fewer ids in a step: fewer negative samples, pairs or triples, or a narrower table.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "the rows of all lookups"

_JOINS = regex(r"(?:\A|/)gradients(?:_\d+)?/concat(?:_\d+)?\Z")
"""The concat of a split's gradient stands in a scope of its own: `gradients/split_grad/concat`."""
_LEAST_ROWS = 10_000


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        shape = request.failed.shape or ()
        if not _JOINS.search(request.failed.node or "") or len(shape) != 2 or (shape[0] or 0) < _LEAST_ROWS:
            continue
        rows, width = (side or 0 for side in shape)
        what = (
            f"most likely the gradient of one table's lookups, {rows:,} rows of {width:,}: one for each id"
            " that a step looks up, however few of them are different"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.failed.tensor_bytes,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(
                Remedy(
                    f"look up fewer ids in one step: {rows:,} are what all samples of a step take together,"
                    " so fewer negative samples for each, or a part of the pairs or triples at a time",
                    slug="smaller-batch",
                ),
                Remedy(
                    f"a narrower table: {width:,} -> {max(width // 2, 1):,} halves each row, and the table"
                    " with its slots",
                    slug="narrower-layer",
                ),
            ),
            moment=index,
            rules_out=("gradient-accumulation", "mixed-precision"),
        )
