"""Horovod gathers the sparse gradient of a table from all ranks, instead of adding it up.

What it means: the gradient of a looked-up table comes as IndexedSlices, rows with their numbers. Horovod
cannot add these up without making them dense, so every rank receives the rows of all: the tensor grows with
the number of ranks, whatever the batch of each. A table that is also the softmax's weights adds a row for
each of its own.
When it fires: the op that failed is `HorovodAllgather` (or the `Allgather` of a DistributedOptimizer).
What to do: make the gradient dense before it is sent: an allreduce takes as much as the table alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests, tensor_text
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.SHAPE
EXPLAINS = "the gathered rows"

_GATHERS = regex(r"(?:\A|/)Horovod_?Allgather|Distributed\w{0,40}Optimizer\w{0,20}/\w{0,20}Allgather")
_DENSE = Remedy(
    "let Horovod make sparse gradients dense before it sends them: it then adds them up, and each rank holds"
    " as much as the table, however many ranks there are",
    "opt = hvd.DistributedOptimizer(opt, sparse_as_dense=True)   # else tf.convert_to_tensor(gradient)",
    slug="dense-allreduce",
)


def check(case: Case) -> Iterator[Finding]:
    for index, _, request in requests(case):
        shape = request.failed.shape
        if not _GATHERS.search(request.failed.node or "") or not shape or len(shape) != 2 or not shape[0]:
            continue
        what = (
            f"Horovod gathers the rows of a sparse gradient (IndexedSlices) from all ranks, here {shape[0]:,}"
            " rows: that grows with the number of ranks, whatever the batch of each"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=request.failed.tensor_bytes,
            evidence=(Evidence(f"requested: {tensor_text(case.moments[index])}", request.failed.line),),
            remedies=(_DENSE,),
            moment=index,
            rules_out=("smaller-batch", "gradient-accumulation"),
        )
