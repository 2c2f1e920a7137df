"""Whether memory grows while a run goes on."""

from __future__ import annotations

import itertools

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case


def rising(case: Case) -> list[int] | None:
    """In-use figures of several failures of one log in its order, if they rise."""
    told = [
        (moment.request.failed.line, moment.balance.in_use) for _, moment in failures(case) if moment.request
    ]
    first = next((line.source for line, _ in told if line), "")
    figures = sorted(
        (line.number, size.bytes) for line, size in told if line and size and line.source == first
    )
    sizes = [size for _, size in figures]
    rises = len(sizes) >= 3 and all(one < other for one, other in itertools.pairwise(sizes))
    return sizes if rises else None
