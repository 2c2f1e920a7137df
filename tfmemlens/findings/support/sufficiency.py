"""Whether a remedy is enough: what it saves against what was missing when the request failed.

What was missing is the least that has to go. A run that was still to ask for more, such as a forward pass
whose backward pass follows, needs more than that: there a remedy that saves what was missing may be enough,
and no page says that it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.rows import (
    after_rematerialisation,
    device_limit,
    has_backward,
    held,
    is_fragmented,
)
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Action, Enough, Finding, Remedy
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.units import Size, human
from tfmemlens.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What did not fit at a failure."""

    missing: Size
    """Bytes by which all that had to fit exceeded the limit."""
    taken: int
    """All that had to fit: what was in use, and the request."""
    to_come: bool
    """Whether the run may have asked for more afterwards."""


def shortfall(case: Case, moment: Moment) -> Shortfall | None:
    """What was missing; None where the input does not tell, and where it lay free in too small pieces."""
    request = moment.request
    if request is None or is_fragmented(moment.balance):
        return None
    compiler = moment.incident.compiler if moment.incident else None
    if compiler is not None and (of_program := _of_program(moment, compiler)):
        return of_program
    need, limit = request.needed_bytes, device_limit(case, moment)
    if need is None:
        return None
    if compiler is not None and limit and (total := compiler.section("total")) and total.low <= limit.high:
        return None  # the buffers that are listed are the program's own: it fits, and others hold the rest
    if compiler is not None and compiler.free:
        return _between(Size.exactly(need), compiler.free, need)
    if limit is None:
        return None
    in_use = moment.balance.in_use or Size.exactly(held(moment))
    taken = in_use + Size.exactly(need)
    if moment.balance.missing:
        missing = Size.exactly(moment.balance.missing)
        return Shortfall(missing, taken.bytes, _more_to_come(case, moment))
    return _between(taken, limit, taken.bytes, _more_to_come(case, moment))


def _of_program(moment: Moment, compiler: CompilerMemory) -> Shortfall | None:
    """Of a compiled program the compiler's own figures: all of its memory is known before it runs."""
    if compiler.needed and compiler.capacity:
        if compiler.excess:
            return Shortfall(compiler.excess, compiler.needed.bytes, to_come=False)
        return _between(compiler.needed, compiler.capacity, compiler.needed.bytes)
    reduced = after_rematerialisation(moment)
    if reduced and compiler.goal and compiler.goal.bytes > 0:
        return _between(reduced, compiler.goal, reduced.bytes)
    return None


def _between(taken: Size, room: Size, whole: int, to_come: bool = False) -> Shortfall | None:
    missing = Size(taken.bytes - room.bytes, max(taken.low - room.high, 0), taken.high - room.low)
    return Shortfall(missing, whole, to_come) if missing.bytes > 0 else None


def _more_to_come(case: Case, moment: Moment) -> bool:
    """Whether more may have been asked for afterwards: not in a backward pass, nor where none follows."""
    request = moment.request
    if request and request.failed.of_xla:
        return False
    return not has_backward(moment) and situation(case, moment).training is not False


def judged(case: Case, finding: Finding) -> Finding:
    """The finding, each of its remedies with whether it is enough."""
    if not case.moments or not any(remedy.saves_bytes for remedy in finding.remedies):
        return finding
    short = shortfall(case, case.moments[finding.moment])
    if short is None:
        return finding
    return replace(finding, remedies=tuple(_judged(remedy, short) for remedy in finding.remedies))


def _judged(remedy: Remedy, short: Shortfall) -> Remedy:
    if remedy.saves_bytes is None or remedy.saves_bytes <= 0:
        return remedy
    high = remedy.saves_bytes if remedy.high_bytes is None else remedy.high_bytes
    low = remedy.saves_bytes if remedy.low_bytes is None else remedy.low_bytes
    if max(high, remedy.saves_bytes) < short.missing.low and not remedy.of_one_tensor:
        enough = Enough.NO
    elif low >= short.missing.high and not short.to_come:
        enough = Enough.YES
    else:
        enough = Enough.PERHAPS
    return replace(remedy, enough=enough, missing_bytes=short.missing.bytes)


def enough_first(actions: Sequence[Action], short: Shortfall | None) -> tuple[Action, ...]:
    """The actions, with one that may be enough before those that cannot be. Where none is, the first says
    so, and the next that makes up for it stands behind it.
    """
    if not actions or actions[0].remedy.enough is not Enough.NO:
        return tuple(actions)
    if other := next((each for each in actions if each.remedy.enough in (Enough.YES, Enough.PERHAPS)), None):
        return (other, *(each for each in actions if each is not other))
    first, rest = actions[0], list(actions[1:])
    partner = short and next((each for each in rest if _together(first.remedy, each.remedy, short)), None)
    if not partner:
        return tuple(actions)
    rest.remove(partner)
    with_it = replace(first, remedy=replace(first.remedy, enough=Enough.WITH_NEXT))
    return (with_it, partner, *rest)


PART_OF_ONE = 0.2
"""One map of one sample that leaves no room for those of other layers: of the device, where it is known."""
_OF_A_SAMPLE = ("smaller-batch", "smaller-input", "recompute", "mixed-precision")


def both_at_once(case: Case, actions: Sequence[Action]) -> tuple[Action, ...]:
    """Of a training whose one sample is large: where the first change leaves a map that takes a fifth of
    the device, and the next one makes up for it, the two are one action.
    """
    request = case.moments[0].request if case.moments else None
    limit = device_limit(case, case.moments[0]) if case.moments else None
    need = request.needed_bytes if request else None
    first = next(iter(actions), None)
    if not (need and limit and limit.bytes and first) or not _more_to_come(case, case.moments[0]):
        return tuple(actions)
    most, left = PART_OF_ONE * limit.bytes, _left_of(first, need)
    if first.remedy.slug not in _OF_A_SAMPLE[:2] or left is None or left < most:
        return tuple(actions)
    others = [each for each in actions[1:] if each.remedy.slug in _OF_A_SAMPLE]
    for other in others:
        rest = _left_of(other, need)
        if rest is None or left * rest / need >= most:
            continue
        both = left * rest // need
        lead = first.remedy.text.partition(";")[0]
        then = other.remedy.text.partition(";")[0].partition(":")[0]
        text = (
            f"{lead}, and {then}: most likely neither is enough alone, since either leaves"
            f" {human(max(left, rest))} of this tensor, and training keeps several; both leave {human(both)}"
        )
        remedy = replace(first.remedy, text=text, code=None, saves_bytes=need - both, enough=None)
        merged = Action(remedy, tuple(dict.fromkeys((*first.rules, *other.rules))))
        return (merged, *(each for each in actions[1:] if each is not other))
    return tuple(actions)


def _left_of(action: Action, need: int) -> int | None:
    """What is left of the failed tensor, where all that a change saves is said of it."""
    saves = action.remedy.saves_bytes
    return need - saves if saves and 0 < saves < need else None


def _together(one: Remedy, other: Remedy, short: Shortfall) -> bool:
    """Whether two changes save what was missing: the second takes its part of what the first one leaves."""
    if not (one.saves_bytes and other.saves_bytes and other.saves_bytes > 0):
        return False
    left = (1 - one.saves_bytes / short.taken) * (1 - other.saves_bytes / short.taken)
    return short.taken * (1 - left) >= short.missing.high
