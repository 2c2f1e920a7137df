"""No rule knows a failure in this text; a line looks like the end, or its writer says that there is none.

What it means: programs and drivers around TensorFlow and JAX have messages of their own. Who wrote the line
says where to look; whether it speaks of memory says whether a lack of it is likely at all.
When it fires: where no other rule has anything to say.
A program that stands still or gets slow did not end, and a pool that stays reserved says nothing of why.
What to do: begin with that line; where there is none, learn how the process ended, or where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.last_line import (
    WHERE_IT_STANDS,
    WHY_SILENT,
    helps,
    last_line,
    speaks_of_memory,
    whose,
)
from tfmemlens.findings.support.situation import on_windows
from tfmemlens.findings.support.traceback_place import in_short, of_the_traceback
from tfmemlens.model.capture import Holds, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line

BASIS = Basis.NAME
EXPLAINS = "none"
ALONE = True
"""It speaks where no other rule does."""
_LESS = Remedy(
    "run the same with a tenth of the data, then with all, and watch RAM and the GPU beside it: what fails"
    " only when it is large lacks room, even where no line says so",
    "nvidia-smi -l 1   # RAM: top, Task Manager",
    slug="smaller-first",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if case.moments or case.layout or case.capture.source.holds >= Holds.GRAPH:
        return
    if end := last_line(told):
        yield _of_a_line(told, *end)
    elif still := told.shows("hanging in words") or told.shows("slowing in words"):
        yield _of_a_standstill(told, still)
    elif silent := told.shows("ending silently"):
        yield _of_silence(case, silent)


def _of_a_line(told: Surroundings, who: str, line: Line) -> Finding:
    what = (
        "it speaks of memory, and no allocator of TensorFlow, JAX or XLA wrote it, so who held how much is"
        " not in this text"
        if speaks_of_memory(line)
        else f"`{in_short(line)}`, and it says nothing of memory"
    )
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"no out-of-memory message was found; what looks like the end is a line {whose(who)}:"
            f" {what}{of_the_traceback(told)}"
        ),
        evidence=(Evidence("the message", line),),
        remedies=helps(who, line),
    )


_THROTTLED = Remedy(
    "see whether the GPU was slowed down: its heat, its power, or a virtual GPU without a licence, which its"
    " driver slows after some minutes until the machine starts anew",
    "nvidia-smi -q | grep -i -E 'licen|slowdown|throttl'",
    slug="log-the-hardware",
)


def _of_a_standstill(told: Surroundings, line: Line) -> Finding:
    hangs = told.shows("hanging in words")
    what = "stands still" if hangs else "gets slow"
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"the text says that the program {what} ({line.place}), and of no lack of memory, which ends in"
            " an error or a kill as a rule; GPU memory that stays in use meanwhile is the pool, which is kept"
            " until the process ends"
        ),
        evidence=(Evidence("what the text says", line),),
        remedies=(WHERE_IT_STANDS,) if hangs else (_THROTTLED, WHERE_IT_STANDS),
    )


def _of_silence(case: Case, line: Line) -> Finding:
    return Finding(
        severity=Severity.NOTE,
        headline=(
            f"the text says that the program ended without a message ({line.place}): killed for RAM, a crash"
            " in native code (which a full GPU may cause) and an end of its own look alike, and nothing here"
            " tells which"
        ),
        evidence=(Evidence("what the text says", line),),
        remedies=(WHY_SILENT[on_windows(case)], _LESS),
    )
