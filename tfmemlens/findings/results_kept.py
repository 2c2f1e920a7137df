"""The line that failed keeps its result: in a list, an attribute or a stack of many passes.

What it means: a tensor lives as long as Python can reach it. `outputs.append(model(x))` keeps one result for
each turn on the device, and so does `[model(x, training=True) for _ in range(100)]`: the turn that fails is
the first for which nothing is left, and its batch is no larger than that of the others.
When it fires: a line of the program on the way to an op that ran by itself adds a result to a list or
collects one for each turn of a comprehension; not what leaves the device first (`.numpy()`, `predict`),
and not inside a layer's call. A cause after steps that went well, else a factor.
What to do: take each result off the device, or add up as you go.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.kept import kept_on_the_way
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes: how many are kept, nobody tells"
_MANY_STEPS = 10


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        kept = kept_on_the_way(request)
        if kept is None or on_host(moment):
            continue
        frame, name = kept
        after = _steps_before(case)
        often = f" after {after:,} steps that went well" if after >= _MANY_STEPS else ""
        what = f"`{name}`" if name else "the list"
        told = f"{what} ({frame.place}) keeps every result on the device, so memory grows with each turn"
        yield Finding(
            severity=Severity.CAUSE if often else Severity.FACTOR,
            headline=f"{told}; it failed{often}" if often else told,
            because=f"{told}; it failed{often}" if often else f"{told}, unless this was the first",
            evidence=(Evidence(f"the line `{frame.text}`", request.failed.line),),
            remedies=(
                Remedy(
                    "take each result off the device before you keep it, or add up as you go",
                    f"{name or 'results'}.append(y.numpy())   # of a mean: total += y; total / turns",
                    slug="keep-numbers",
                ),
            ),
            moment=index,
        )


def _steps_before(case: Case) -> int:
    """The most steps of an epoch, or counted by the program, that went well."""
    told = case.capture.surroundings
    bars = [each.step for each in told.progress if each.step]
    return max([*bars, *(step for step, _ in told.steps)], default=0)
