"""The text says in words that memory ran out, quotes no message, and shows JAX code that makes much.

What it means: people ask with the code and their own words. The code may show what most likely is too
large: an array that a jitted function captures, a matrix of derivatives, what a scan stacks, an array made
whole before it is sharded.
When it fires: no message was found, a line of the text speaks of memory that ran out, and the quoted code
imports or calls JAX and shows one of these. Where words only say that memory is much, a derivative whose
passes are counted by the shapes of the code, a captured array that states its size, or the gradient of a
scan.
What to do: what the construct asks for; the message of the failure would tell how much was requested.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.contrasted import compared
from tfmemlens.findings.support.which_memory import only_of_a_leak
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import GIB

BASIS = Basis.NAME
_COMPILED_ANEW = ("jax: recompiling", "many shapes")
_GROW = ("start-anew", "one-shape-of-jax", "pass-as-argument")
"""What helps against what is compiled again and again, or kept by a program."""
_LEAST_BYTES = GIB // 4
"""What is counted, and so explains memory that is only said to be much."""
EXPLAINS = "no bytes: no message says how much was requested"


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if case.moments or told.foreign or told.without_figures or not told.shows("using JAX"):
        return
    said = told.shows("running short")
    from tfmemlens.findings.support.jax_program import (  # reads trees
        captured_by_program,
        derivatives_by_program,
        made_by_program,
        stacked_by_program,
    )

    made = (made_by_program(told) or stacked_by_program(told)) if said else None
    if any(map(told.shows, _COMPILED_ANEW)):
        made = None  # its writer says what is compiled again and again: words tell of that
    weak = False
    if said is None and (line := told.shows("memory at issue")):
        counted = derivatives_by_program(told)
        if counted and (counted.explains or 0) >= _LEAST_BYTES:
            said, made, weak = line, counted, True
        elif counted is None and (held := captured_by_program(told, _LEAST_BYTES)):
            said, made, weak = line, held, True
        elif counted is None and (kept := stacked_by_program(told, within=True)):
            said, made, weak = line, kept, True
    if made and said and only_of_a_leak(said) and not any(each.slug in _GROW for each in made.remedies):
        made = None  # what one call makes explains no leak
    if made and told.setting("clear_caches") and any(each.slug == "start-anew" for each in made.remedies):
        made = None  # the programs that it compiles are dropped
    if said is None or made is None:
        return
    both = compared(case)
    guess = f"by the code, most likely {made.what}"
    if both:
        guess = f"{both.said}; besides, a guess by the code: {made.what}"
    yield Finding(
        severity=Severity.CAUSE,
        headline=f"no message is quoted; {guess}",
        evidence=(
            Evidence("what the text says", said),
            *((Evidence("the code", made.line),) if made.line else ()),
        ),
        remedies=(*((both.remedy,) if both else ()), *made.remedies, *(() if weak else (_READ_THE_LOG,))),
    )


_READ_THE_LOG = Remedy(
    "add the message and its traceback: they say how much was requested, and where",
    slug="read-the-log",
)
