"""A whole data set is held on the device as one constant, and a copy of it failed.

What it means: `Dataset.from_tensor_slices` of arrays puts the whole data set into the graph as a constant,
and so onto the device where the iterator is made; making the iterator, or handing the constant from one op
to the next, copies it once more.
When it fires: the op that failed makes an iterator or receives a tensor, and a tensor of just the request's
size is held already.
What to do: build the data set on the host, or feed it from a generator or from files.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import alike, place, requests, tensor_text
from tfmemlens.model.case import Case
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
        whole = alike(moment)
        if need < MIB or whole <= need or not _COPIES.search(op):
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"{place(moment) or op} copies a tensor of {human(need)} that is held already, most likely a"
                " data set given as arrays"
            ),
            because=(
                f"a tensor of just this size is held already, most likely a data set given as arrays, and"
                f" {op.rpartition('/')[2]} makes one more copy"
            ),
            explains=whole,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=(_REMEDY,),
            moment=index,
        )
