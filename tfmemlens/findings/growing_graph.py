"""Names with high counters: the program adds ops to its graph in a loop.

What it means: TensorFlow numbers ops of one name as they are made. `Variable_48211` is the 48,212th of that
name, and no model has so many by design: a loop makes ops, or variables, anew in every turn, and the graph
keeps them all.
When it fires: the failing op's name carries a counter of 5,000 or more.
What to do: build the graph once, before the loop, and feed what changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.remedies import BUILD_ONCE
from tfmemlens.findings.support.rows import requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "what is in use, and the request"
_MIN_OPS = 5000
"""More ops of one name than the largest models make: an Adam of chained ops makes a few for each weight."""
_COUNTER = regex(r"(?:\A|/)(?P<name>[A-Za-z]\w*?)_(?P<number>\d{4,9})(?=/|\Z)")


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        name = request.failed.node or ""
        counted = max(_COUNTER.finditer(name), key=lambda match: int(match["number"]), default=None)
        if counted is None or int(counted["number"]) < _MIN_OPS:
            continue
        number, used = int(counted["number"]), moment.balance.in_use
        what = (
            f"`{counted['name']}_{number}` is number {number + 1:,} of its name, so a loop adds to the graph"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}, which keeps all that was added",
            because=what,
            explains=(used.bytes if used else 0) + (request.needed_bytes or 0) or None,
            evidence=(Evidence("the failing op", request.failed.line),),
            remedies=(BUILD_ONCE,),
            moment=index,
        )
