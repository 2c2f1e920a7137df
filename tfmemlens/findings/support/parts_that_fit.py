"""How many rows at a time fit: a first try must fit what the text says is there.

`len(xs) // 8` is a guess of an eighth. Where a program needs a thousand times what it may have, an eighth is
no try at all, and the text's own figures say how many parts there must be.
"""

from __future__ import annotations

from tfmemlens.findings.support.rows import device_limit, on_host
from tfmemlens.findings.support.sufficiency import shortfall
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Finding, Remedy
from tfmemlens.units import GIB, human
from tfmemlens.values import replace

_GUESS = "len(xs) // 8"
_UNKNOWN_ROOM = 40 * GIB
"""What a large device may have beside weights, where the text names none."""


def parts_that_fit(need: int, room: int) -> int:
    """In how many parts, a power of two, what is needed fits with room for as much beside it."""
    parts = _FEWEST
    while parts * room < 2 * need and parts < _MOST_PARTS:
        parts *= 2
    return parts


_FEWEST, _MOST_PARTS = 8, 1 << 20


def _figures(case: Case, moment: Moment) -> tuple[int, int]:
    """What is needed at once, and what there is for it; nothing and all where the text does not tell."""
    short = shortfall(case, moment)
    if short is not None and short.taken > short.missing.bytes:
        return short.taken, short.taken - short.missing.bytes
    need = moment.request.needed_bytes if moment.request else None
    if need is None or on_host(moment):
        return 0, 1
    limit = device_limit(case, moment)
    return need, limit.bytes if limit and limit.bytes > 0 else _UNKNOWN_ROOM


def fitted(case: Case, finding: Finding) -> Finding:
    """The finding, whose guesses of an eighth of the rows are as many parts as the figures ask for."""
    if not case.moments or not any(_GUESS in (each.code or "") for each in finding.remedies):
        return finding
    need, room = _figures(case, case.moments[finding.moment])
    if (parts := parts_that_fit(need, room)) == _FEWEST:
        return finding
    return replace(finding, remedies=tuple(_in_parts(each, parts, need, room) for each in finding.remedies))


def _in_parts(remedy: Remedy, parts: int, need: int, room: int) -> Remedy:
    if remedy.code is None or _GUESS not in remedy.code:
        return remedy
    code = remedy.code.replace(_GUESS, f"max(len(xs) // {parts}, 1)")
    told = (
        ""
        if room == _UNKNOWN_ROOM
        else f": {human(need)} for {human(room)} are {-(-need // room):,} at least"
    )
    return replace(
        remedy,
        text=f"{remedy.text}, in about {parts:,} parts{told}",
        code=code.replace("an eighth", f"1 of {parts} parts"),
    )
