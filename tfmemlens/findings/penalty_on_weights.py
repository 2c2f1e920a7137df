"""A penalty (L2 regularisation) on a whole weight matrix works on tensors as large as it, whatever the batch.

What it means: the square of a table of 300,000 rows, and its gradient, are as large as the table. A lookup's
own gradient is sparse, a few rows; added to the penalty's it becomes dense, and the optimizer updates all
rows.
When it fires: an op of a penalty (`L2Loss`, a scope `Regularizer`, their gradients), or a line with
`l2_loss(` or a regulariser, asks for a matrix of 5,000 rows or more, longer than wide, of 8 MiB or more; or
a gradient or an update of that shape does, and the program's one table of it has a regulariser, or one of its
variables is given to `l2_loss` or `l2_normalize` whole (Keras 3 makes such gradients dense without these).
What to do: penalise, or normalise, the rows that a batch looked up; else leave the table out of the penalty.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.penalised_table import OF_KERAS, penalised_table
from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.knowledge.weight_penalties import is_penalty
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

BASIS = Basis.SHAPE
EXPLAINS = "what was requested, and held tensors of the same size"

_LEAST_ROWS, _LEAST_BYTES = 5000, 8 * MIB
_A_LOSS, _NORMS = "l2_loss", "l2_normalize"
_LINE = regex(r"\bl2_loss\(|\bregulari[sz]ers?\b|_regulari[sz]er\b")


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        if framework_of(case) == TENSORFLOW and _of_a_table(request) and not _by_a_penalty(request):
            if (penalised := penalised_table(case, request)) is not None:
                yield _of_the_code(index, moment, request, *penalised)
            continue
        if framework_of(case) != TENSORFLOW or not _of_a_table(request) or not _by_a_penalty(request):
            continue
        failed = request.failed
        rows, width = failed.shape or (0, 0)
        what = (
            f"most likely an L2 penalty on a whole matrix of {rows:,} x {width:,}: its square and its"
            " gradient are as large as the matrix, whatever the batch, and make the sparse gradient of a"
            " lookup dense"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=alike(moment),
            evidence=(Evidence(f"requested: {tensor_text(moment)} at {place(moment)}", failed.line),),
            remedies=(
                Remedy(
                    "penalise the rows that the batch looked up, not the whole table",
                    "loss += l2 * tf.nn.l2_loss(rows)   # rows = tf.nn.embedding_lookup(table, ids)",
                    failed.tensor_bytes,
                    Certainty.BOUND,
                    slug="penalty-on-rows",
                ),
                Remedy(
                    "or leave the table out of the penalty, and let dropout or fewer columns regularise it",
                    slug="without-penalty",
                ),
            ),
            moment=index,
        )


def _of_the_code(index: int, moment: Moment, request: Request, keyword: str, line: Line) -> Finding:
    """A table whose lookup has a sparse gradient, and whose penalty reads every row."""
    rows, width = request.failed.shape or (0, 0)
    what = (
        f"`{keyword}` of the table {rows:,} x {width:,} ({line.place}) reads every row, so that its gradient"
        " is dense: the lookup's few rows are made as large as the table, too, and both are added up,"
        " whatever the batch"
    )
    off = (
        f"take `{keyword}` off the table" if keyword != _A_LOSS else "give `l2_loss` what the lookup returned"
    )
    rows_alone = (
        _normalised(request)
        if keyword == _NORMS
        else Remedy(
            f"penalise only the rows that a batch looks up: {off}"
            + (", and penalise the layer's output" if keyword == OF_KERAS else ""),
            "Embedding(rows, width, activity_regularizer=regularizers.l2(1e-6))   # divided by the batch"
            if keyword == OF_KERAS
            else "loss += l2 * tf.nn.l2_loss(rows)   # rows = tf.nn.embedding_lookup(table, ids)",
            request.failed.tensor_bytes,
            Certainty.BOUND,
            slug="penalty-on-rows",
        )
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=alike(moment),
        evidence=(
            Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            Evidence(f"the table has `{keyword}`", line),
        ),
        remedies=(
            rows_alone,
            Remedy(
                "or fewer rows: a smaller vocabulary, or ids hashed into fewer buckets; the table, its"
                " gradients and slots shrink alike",
                slug="smaller-vocabulary",
            ),
        ),
        moment=index,
        rules_out=("lower-constant", "smaller-batch", "smaller-table", "table-on-host"),
    )


def _normalised(request: Request) -> Remedy:
    """The same rows, normalised after they were looked up."""
    return Remedy(
        "look the rows up first, and normalise only these: the result is the same, and the gradient of the"
        " table stays a few rows",
        "rows = tf.nn.l2_normalize(tf.gather(table, ids), axis=-1)",
        request.failed.tensor_bytes,
        Certainty.BOUND,
        slug="penalty-on-rows",
    )


def _of_a_table(request: Request) -> bool:
    shape = request.failed.shape or ()
    if len(shape) != 2 or not all(shape) or (request.failed.tensor_bytes or 0) < _LEAST_BYTES:
        return False
    rows, width = (size or 1 for size in shape)
    return rows >= _LEAST_ROWS and rows > width


def _by_a_penalty(request: Request) -> bool:
    failed = request.failed
    return bool(
        is_penalty(failed.node or "") or is_penalty(failed.op or "") or _LINE.search(failed.source_text or "")
    )
