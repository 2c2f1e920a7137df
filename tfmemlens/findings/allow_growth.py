"""What `allow_growth` does, and what it does not do.

What it means: with growth TensorFlow takes device memory in pieces, as needed, instead of nearly all at
start. The need and the limit stay the same. It cures a full device only when another process or library needs
room; nvidia-smi shows the real high-water mark.
When it fires: the input mentions allow_growth or set_memory_growth, or the pool is smaller than the limit.
What to do: do not expect it to cure an OOM of one process.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.units import human_size

BASIS = Basis.FIGURES
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    mentioned = next(
        (line for name, _, line in case.capture.surroundings.settings if name == "allow_growth"), None
    )
    for index, moment in list(failures(case))[:1]:
        books = moment.balance
        if mentioned is None:
            continue
        grown = (
            f"; here the pool had grown to {human_size(books.pool)} of {human_size(books.limit)}"
            if books.pool and books.limit
            else ""
        )
        yield Finding(
            severity=Severity.NOTE,
            headline=f"allow_growth changes when memory is taken, not how much is needed{grown}",
            evidence=(Evidence("mentioned here", mentioned),),
            moment=index,
        )
