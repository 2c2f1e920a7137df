"""The text says, beside a message, what ended the failure.

What it means: a post often goes on after its message: somebody found a setting, another process, a release,
and it works now. That is worth more than what a shape lets guess.
When it fires: a sentence below the message says what ended it, or what works (`I solved it by ...`, `reducing
the length works`), and neither asks nor doubts.
What to do: try that first.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.contrasted import ended_by
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes: words say that it ended, and not what held the memory"


def check(case: Case) -> Iterator[Finding]:
    known = ended_by(case)
    request = case.moments[0].request if case.moments else None
    if known is None or request is None:
        return
    remedy, line = known
    failed = request.failed.line
    if failed is not None and line.number < failed.number:
        return
    yield Finding(
        severity=Severity.NOTE,
        headline=f"{line.place} says what ended it",
        evidence=(Evidence("what the text says", line),),
        remedies=(remedy,),
    )
