"""A whole data set is held on the device as one constant, and a copy of it failed.

What it means: `Dataset.from_tensor_slices` of arrays puts the whole data set into the graph as a constant,
and so onto the device where the iterator is made; making the iterator, or handing the constant from one op
to the next, copies it once more.
When it fires: the op that failed makes an iterator or receives a tensor, and a tensor of just the request's
size is held already, or one chunk that BFC may have given for such a tensor.
What to do: build the data set on the host, or feed it from a generator or from files.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, attributed, place, requests, tensor_in, tensor_text
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, human

BASIS = Basis.MEASURED
EXPLAINS = "the failing copy, and held tensors of the same size"

_COPIES = regex(
    r"(?:\A|/)(?:MakeIterator|OneShotIterator|SameWorkerRecvDone|TensorSliceDataset|TensorDataset)(?:_\d+)?\Z"
)
_REMEDY = Remedy(
    "keep the data on the host: build the data set under the CPU device, or feed from a generator",
    "with tf.device('CPU:0'): dataset = tf.data.Dataset.from_tensor_slices(x)",
    slug="keep-off-the-device",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        need, op = request.needed_bytes or 0, request.failed.op or request.failed.node or ""
        if need < MIB or not _COPIES.search(op):
            continue
        whole, chunk = alike(moment), _one_chunk_for(moment, need)
        if whole <= need and chunk is None:
            continue
        kept = "a tensor of just this size is held already"
        if whole <= need and chunk:
            kept, whole = f"one block of {human(chunk)} holds a tensor as large already", need + chunk
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"{place(moment) or op} copies a tensor of {human(need)} that is held already, most likely a"
                " data set given as arrays"
            ),
            because=(
                f"{kept}, most likely a data set given as arrays, and"
                f" {op.rpartition('/')[2]} makes one more copy"
            ),
            explains=whole,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(_REMEDY,),
            moment=index,
        )


def _one_chunk_for(moment: Moment, need: int) -> int | None:
    """The size of the one large chunk whose tensor may be as large as the request."""
    if attributed(moment) or not len(moment.attribution.table):
        return None
    largest = max(moment.attribution.table, key=lambda row: row.size_bytes)
    low, high = tensor_in(largest, moment)
    return largest.size_bytes if largest.count == 1 and low <= need <= high else None
