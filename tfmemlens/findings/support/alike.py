"""Arrays of the request's own size that are on the device already: a compiled function's block of temporaries
ends with the call, so that several that live are what it was given, or what earlier calls returned.
"""

from __future__ import annotations

from tfmemlens.findings.support.situation import JAX, framework_of, situation
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Remedy
from tfmemlens.units import MIB, human, round_up

_FEWEST, _LEAST_SHARE = 4, 0.5
_LEAST_BYTES = 16 * MIB


def alive_alike(moment: Moment) -> Allocation | None:
    """The blocks in use that are as large as the request, where they are half of what is in use and more."""
    need = moment.request.needed_bytes if moment.request else None
    if need is None or need < _LEAST_BYTES:
        return None
    table = moment.attribution.table
    same = next((row for row in table if row.size_bytes == round_up(need)), None)
    held = sum(row.total_bytes for row in table)
    many = same is not None and same.count >= _FEWEST and same.total_bytes >= _LEAST_SHARE * held
    return same if many else None


def of_the_living(alike: Allocation) -> str:
    """`4 arrays of just this size live already, …`."""
    return (
        f"{alike.count} arrays of just this size ({human(alike.size_bytes)}) live on the device already, so"
        " it is most likely one more of them, and no block of temporaries: what the function is given, and"
        " what earlier calls returned and nothing has freed"
    )


_IN_JULIA = Remedy(
    "let go of results of earlier calls before the next one, and have Julia collect them: on the device they"
    " stay until its garbage collector runs (GC.gc() in the loop, after the last reference is dropped)",
    slug="drop-references",
)
_IN_JAX = Remedy(
    "let go of results of earlier calls before the next one: keep none in a list, and drop or delete the old"
    " one, or donate it where the next call takes its place",
    "x.delete()   # or f = jax.jit(f, donate_argnums=0) for x = f(x)",
    slug="drop-references",
)
_ELSEWHERE = Remedy(
    "let go of results of earlier calls before the next one: drop the references to them",
    slug="drop-references",
)


def let_go(case: Case, moment: Moment) -> Remedy:
    """What frees them, in the program's own language."""
    if case.capture.surroundings.shows("code of Julia"):
        return _IN_JULIA
    python = framework_of(case) == JAX and not situation(case, moment).no_python
    return _IN_JAX if python else _ELSEWHERE
