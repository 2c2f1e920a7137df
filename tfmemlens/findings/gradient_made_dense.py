"""The program itself makes the sparse gradient of a table dense.

What it means: the gradient of a table that is looked up comes as IndexedSlices, the rows of the batch alone.
`tf.convert_to_tensor(g)`, written before clipping or adding up, fills all other rows with zeros: a tensor as
large as the table, and what is computed from it is as large again.
When it fires: the failing line has such a call, the program takes gradients, and what was asked for has the
shape of its one table. Measured with TensorFlow 2.21: without the call the same program ran.
What to do: leave the call out; the functions that clip take slices as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.dense_by_hand import dense_by_hand
from tfmemlens.findings.support.rows import alike, requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "what failed, and held tensors of the same size"

_SPARSE = Remedy(
    "leave the gradient as it is: tf.clip_by_norm, tf.clip_by_value and tf.clip_by_global_norm take"
    " IndexedSlices, and optimizers too; what you compute yourself, compute of its rows",
    "g = [tf.clip_by_norm(x, 1.0) for x in g]   # its rows: x.values, which rows they are: x.indices",
    slug="keep-the-slices",
)


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != TENSORFLOW:
        return
    for index, moment, request in list(requests(case))[:1]:
        found = dense_by_hand(case, request)
        if found is None:
            continue
        text, table = found
        each = request.failed.tensor_bytes or request.needed_bytes or 0
        what = (
            f"`{text}` makes the gradient of the table of {table.place} dense: {human(each)} instead of the"
            " rows of one batch, and what is computed of it is as large again"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=alike(moment) or None,
            evidence=(Evidence("the line that failed", request.failed.line), Evidence("the table", table)),
            remedies=(_SPARSE,),
            moment=index,
            rules_out=("smaller-batch", "gradient-accumulation", "lower-constant", "in-pieces"),
        )
