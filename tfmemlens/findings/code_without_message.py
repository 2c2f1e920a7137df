"""The text says in words that memory ran out, quotes no message, and shows JAX code that makes much.

What it means: people ask with the code and their own words. The code may show what most likely is too
large: an array that a jitted function captures, a matrix of derivatives, what a scan stacks, an array made
whole before it is sharded.
When it fires: no message was found, a line of the text speaks of memory that ran out, and the quoted code
imports or calls JAX and shows one of these.
What to do: what the construct asks for; the message of the failure would tell how much was requested.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes: no message says how much was requested"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if case.moments or told.foreign or told.without_figures or not told.shows("using JAX"):
        return
    said = told.shows("running short")
    from tfmemlens.findings.support.jax_program import made_by_program, stacked_by_program  # reads trees

    made = (made_by_program(told) or stacked_by_program(told)) if said else None
    if said is None or made is None:
        return
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"no message is quoted; by the code, most likely {made.what}",
        evidence=(
            Evidence("what the text says", said),
            *((Evidence("the code", made.line),) if made.line else ()),
        ),
        remedies=(
            *made.remedies,
            Remedy(
                "add the message and its traceback: they say how much was requested, and where",
                slug="read-the-log",
            ),
        ),
    )
