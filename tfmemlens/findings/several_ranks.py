"""Several processes tell of the same failure.

What it means: in distributed runs every rank calls its device GPU:0; whether they share one physical GPU
cannot be seen from the name.
When it fires: lines of the log carry ranks or host names, and more than one tells a failure.
What to do: make sure that each rank sees only its own GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import own_tasks
from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.situation import framework_name
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        ranks = moment.incident.ranks if moment.incident else ()
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
