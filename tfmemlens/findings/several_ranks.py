"""Several processes tell of the same failure.

What it means: in distributed runs every rank calls its device GPU:0; whether they share one physical GPU
cannot be seen from the name.
When it fires: lines of the log carry ranks or host names, and more than one tells a failure; or the driver
refuses memory to a rank that is not the first of its job.
What to do: make sure that each rank sees only its own GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import own_tasks
from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import framework_name
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        ranks = moment.incident.ranks if moment.incident else ()
        if len(ranks) == 1 and _is_later(ranks[0]) and request.failed.kind is RequestKind.DRIVER:
            yield _of_a_later_rank(case, index, request, ranks[0])
        if len(ranks) < 2 or own_tasks.share_one(case):
            continue
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                f"{len(ranks)} processes tell of this failure; each calls its device GPU:0, so check that"
                " they do not share one"
            ),
            evidence=(Evidence(f"ranks {', '.join(ranks[:8])}", request.failed.line),),
            remedies=(
                Remedy(
                    f"pin each rank to its GPU before {framework_name(case)} starts",
                    "os.environ['CUDA_VISIBLE_DEVICES'] = str(local_rank)",
                    slug="one-device-each",
                ),
            ),
            moment=index,
        )


_RANK = regex(r"\d{1,4},(?P<rank>[1-9]\d{0,4})")
"""How `mpirun --tag-output` writes a job and a rank."""


def _is_later(rank: str) -> bool:
    return _RANK.fullmatch(rank) is not None


def _of_a_later_rank(case: Case, index: int, request: Request, rank: str) -> Finding:
    """The driver had no memory for the pool of a rank that others were started beside."""
    what = (
        f"the lines are of a rank that is not the first of its job (`[{rank}]`), so others run beside it:"
        " where they see the same GPU, the first takes nearly all of it"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=request.needed_bytes,
        evidence=(Evidence(f"rank {rank}", request.failed.line),),
        remedies=(
            Remedy(
                f"pin each rank to a GPU of its own before {framework_name(case)} starts, and start no more"
                " ranks than there are GPUs",
                "os.environ['CUDA_VISIBLE_DEVICES'] = str(local_rank)",
                slug="one-device-each",
            ),
            Remedy(
                "see on the node who holds each GPU while the ranks start; by itself a refused region of the"
                " pool ends no run",
                "nvidia-smi",
                slug="see-device-users",
            ),
        ),
        moment=index,
    )
