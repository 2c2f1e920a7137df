"""A table of embeddings is put together anew in each step, so its gradient and its copies are whole tables.

What it means: `table = tf.concat((tf.zeros([1, width]), table[1:]), 0)` gives the padding id a row of zeros,
and makes a second table at each step. The look-up then reads that copy, and the gradient of slice and concat
is dense: [rows, width] each, where a look-up in the variable itself has only the rows of the batch.
When it fires: a line of the program does so, and a tensor of the table's size failed that is no first value.
What to do: look up in the variable, and mask the padding id's rows afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rebuilt_table import rebuilt_table
from tfmemlens.findings.support.rows import alike, requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.SHAPE
EXPLAINS = "the failing tensor, and held ones of the same size"

_MASK = Remedy(
    "look up in the variable itself, and mask the padding id's rows afterwards: no second table is made, and"
    " the gradient has only the rows of the batch",
    "x = tf.nn.embedding_lookup(table, ids) * tf.cast(tf.not_equal(ids, 0), tf.float32)[..., None]",
    slug="mask-the-padding",
)
_OF_THE_TABLE = (
    *("keep-slices", "sparse-updates", "smaller-vocabulary", "smaller-table", "lighter-optimizer"),
    "smaller-batch",
)
"""What helps a table that is as large for another reason, or changes what is learned."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        line = rebuilt_table(case, request)
        need = request.failed.tensor_bytes
        if line is None or need is None:
            continue
        failed = request.failed
        quoted = (failed.source_text or "").strip() == line.text.strip()
        place = failed.source if failed.source and quoted else line.place
        what = (
            f"{place} puts the table together anew in each step (zeros for the padding id), so a copy of it"
            f" and a dense gradient of slice and concat take {human(need)} each, whatever the batch"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=alike(moment) or need,
            evidence=(
                Evidence("the line", line),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            remedies=(_MASK,),
            moment=index,
            rules_out=_OF_THE_TABLE,
        )
