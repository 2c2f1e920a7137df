"""memory_profiler's table shows which line of a function added most of the host RAM.

What it means: the table gives what the process had after each line, host RAM and never GPU memory. What a
first call adds once may be libraries, their kernels and compiled programs, which stay and do not grow; what
every call adds is kept.
When it fires: no message of a failure stands there, or one of host RAM; one line of a table added 100 MiB or
more, and at least half of all that its lines added.
What to do: look at what that line makes; call it again in the same process, to tell the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import profiled_lines
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import on_host
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.capture import ProfiledLine, Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.MEASURED
EXPLAINS = "what the line added, where a failure is told"
_LONGEST = 60
_IMPORTS_TORCH = regex(r"\A\s*(?:import|from) torch\b")
_AGAIN = Remedy(
    "call it again in the same process: what is added once (libraries, kernels, compiled programs) stays and"
    " does not grow; what each call adds is kept, or made anew and not given back",
    "for _ in range(3): f(); print(psutil.Process().memory_info().rss >> 20, 'MiB')   # f: this function",
    slug="call-again",
)
_MAKES = Remedy(
    "make less at once on this line: parts that are done one after another, numbers of fewer bits, or smaller"
    " inputs",
    slug="in-pieces",
)
_ONE_EACH = Remedy(
    "keep PyTorch out of processes that compute with JAX (or install its build for the CPU), and let CUDA"
    " load kernels when they are used: each framework loads its own libraries for the GPU into the RAM of"
    " each process",
    "export CUDA_MODULE_LOADING=LAZY   # from CUDA 11.7 on",
    slug="one-framework-each",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    most = profiled_lines.most(told)
    if most is None or any(not on_host(moment) for moment in case.moments):
        return
    torch = _torch_beside(case, told)
    turns = f" in {most.times:,} turns" if most.times > 1 else ""
    beside = f", with PyTorch imported beside JAX ({torch.place})" if torch and most.times == 1 else ""
    what = (
        f"by memory_profiler's table, which counts host RAM and no GPU memory, `{_short(most)}`"
        f" ({most.line.place}) added {human(most.more)}{turns} of the {human(profiled_lines.added(told))}"
        f" that all its lines added{beside}"
    )
    yield Finding(
        severity=Severity.CAUSE if case.moments else Severity.FACTOR,
        headline=what,
        because=what,
        explains=most.more if case.moments else None,
        evidence=(Evidence("the line that added most", most.line),),
        remedies=(*((_ONE_EACH,) if beside else ()), _MAKES if case.moments and most.times == 1 else _AGAIN),
        moment=0,
    )


def _torch_beside(case: Case, told: Surroundings) -> Line | None:
    """The line that imports PyTorch into a program of JAX's."""
    if framework_of(case) != JAX:
        return None
    return next((line for line in code_lines(told) if _IMPORTS_TORCH.match(line.text)), None)


def _short(row: ProfiledLine) -> str:
    return row.code if len(row.code) <= _LONGEST else f"{row.code[:_LONGEST]}…"
