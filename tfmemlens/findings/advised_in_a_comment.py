"""A comment of the thread advises something against the failure that is of this program alone.

What it means: who knows a program names its option, variable or branch that takes less memory. That is what
its writer thinks, and no measurement.
When it fires: memory ran out or grows, by a message or in words, and a comment of another writer than the
first advises something that it names, in a line that speaks of memory; nothing below says that it was tried.
What to do: try it, after what a dump or a size proves.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.capture import ADVISED
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes: it quotes"

AS_ADVISED = "as-advised"
_LONGEST = 150
_TOLD = ("running short", "growing in words", "ended in words", "killed in words", "warned of large requests")


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    said = next(((name, line) for name, line in told.purposes if name.startswith(ADVISED)), None)
    if said is None or told.foreign or told.elsewhere or not (case.moments or any(map(told.shows, _TOLD))):
        return
    sentence, line = said[0].removeprefix(ADVISED), said[1]
    yield Finding(
        severity=Severity.NOTE,
        headline=f"a comment advises something for this program ({line.place})",
        evidence=(Evidence("the comment", line),),
        remedies=(Remedy(f'try what {line.place} advises: "{_short(sentence)}"', slug=AS_ADVISED),),
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rsplit(" ", 1)[0] + "\u2026"
