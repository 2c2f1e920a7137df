"""The op that failed asked for no bytes: an empty tensor was given to it, and memory was not short.

What it means: some kernels report that memory ran out when what they were to allocate has no elements. Under
a strategy the last batch of a data set does it, where it has fewer rows than the replicas have parts; else a
mask, a filter or a shard that leaves no row.
When it fires: the failed request is of 0 bytes.
What to do: drop the odd last batch, or find what hands an empty tensor to this op.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.told_mechanism import PER_REPLICA
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.values import replace

BASIS = Basis.MEASURED
EXPLAINS = "no bytes: none were asked for"

_REPLICA = regex(r"(?:\A|/)replica_\d+/")
_LAST_BATCH = replace(
    PER_REPLICA,
    text="drop the last batch of each data set: what is left of it is split over the replicas as well, and"
    " one of them gets a part without rows",
    code="ds = ds.batch(batch, drop_remainder=True)",
)
_FIND_IT = Remedy(
    "print the shapes that this op gets: the last batch, a mask, a filter or a shard left no row; drop that"
    " batch, or skip the op where there is none",
    slug="find-the-feed",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        if request.needed_bytes != 0 or framework_of(case) != TENSORFLOW:
            continue
        under = is_split(case, moment)
        yield Finding(
            severity=Severity.CAUSE,
            headline="the failing op asked for 0 bytes: an empty tensor was given to it",
            because=(
                "an empty tensor was given to it, so no memory is short"
                + ("; most likely one replica's part of an uneven last batch" if under else "")
            ),
            evidence=(Evidence("what was asked for", request.failed.line),),
            remedies=(_LAST_BATCH, _FIND_IT) if under else (_FIND_IT,),
            rules_out=_OF_A_SHORTAGE,
            moment=index,
        )


def is_split(case: Case, moment: Moment) -> bool:
    """Whether each batch is split over replicas, as the op's name or the text says."""
    node = moment.request.failed.node if moment.request else None
    return bool(_REPLICA.search(node or "")) or (
        case.capture.surroundings.shows("training under a strategy") is not None
    )


_OF_A_SHORTAGE = (
    "smaller-batch",
    "gradient-accumulation",
    "see-device-users",
    "read-the-log",
    "record-a-step",
    "list-tensors",
    "dump-file",
    "smaller-input",
    "smaller-model",
    "mixed-precision",
    "growth",
)
"""What helps where memory is short."""
