"""What the moments of a report are called, and how many there are: a traced step or a memory dump beside a
failure is no second failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tfmemlens.model.case import Moment
from tfmemlens.model.incident import RequestKind


def noun(moment: Moment) -> str:
    """`failure`, `memory dump`, `compiled program`, `device memory profile`; `allocator` of a traced step."""
    if moment.request is None:
        return "allocator"
    failed = moment.request.failed
    if failed.kind in (RequestKind.PROGRAM, RequestKind.PROFILE):
        return str(failed.kind.value)
    return "memory dump" if failed.kind is RequestKind.DUMP and failed.line is None else "failure"


def counted(moments: Iterable[Moment]) -> list[str]:
    """`["2 failures", "1 memory dump"]`, in their order."""
    counts = Counter(map(noun, moments))
    return [f"{count} {what}{'s' if count > 1 else ''}" for what, count in counts.items()]


def place(moments: Sequence[Moment], index: int) -> str:
    """`failure 1 of 2`; `memory dump` where it is the only one."""
    what = noun(moments[index])
    alike = [at for at, moment in enumerate(moments) if noun(moment) == what]
    return f"{what} {alike.index(index) + 1} of {len(alike)}" if len(alike) > 1 else what
