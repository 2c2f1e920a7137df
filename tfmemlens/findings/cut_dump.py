"""Of the allocator's dump only a part is here: its statistics, or a stretch of its chunks.

What it means: the head of a dump names the request, its chunks show what is free and in how many pieces, its
statistics the limit and what is in use. What one part says can be judged; what is missing decides the rest: a
full pool refuses any request, and where much was free the request was larger than that, the free memory lay
in pieces, or the device had no more to give.
When it fires: statistics without chunks that do not explain the failure by themselves, or chunks without a
request and without a limit.
What to do: read the whole dump, above all the lines before the part that is here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import attributed, held, requests
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import human, human_size, percent

BASIS = Basis.FIGURES
EXPLAINS = "what is in use of a full pool, else what is not; or the largest chunks of one size"

_FULL = 0.95
"""Share of the limit above which a pool has no room worth naming."""
_WHOLE = Remedy(
    "explain the whole log: the lines before this part name the request, and say what is free in which"
    " pieces",
    "python train.py 2> train.log; tfmemlens explain train.log",
    slug="read-the-log",
)
_USERS = Remedy("see who else holds the device", "nvidia-smi", slug="see-device-users")


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        incident = moment.incident
        if incident is None or attributed(moment) or moment.balance.missing:
            continue
        if request.failed.kind is RequestKind.PROFILE:
            continue  # an account, of which nothing is cut
        state = incident.state
        dumped = state.pool is None and (incident.chunks is not None or incident.size_classes)
        if state.limit and state.in_use and state.limit.bytes and state.free is None:
            yield _of_statistics(case, index, moment, request)
        elif dumped and not state.limit and request.needed_bytes is None and len(moment.attribution.table):
            yield _of_chunks(index, moment)


def _of_statistics(case: Case, index: int, moment: Moment, request: Request) -> Finding:
    assert moment.incident
    state = moment.incident.state
    assert state.limit and state.in_use
    used, limit = state.in_use, state.limit
    left = max(limit.bytes - used.bytes, 0)
    of_limit = f"{human_size(used)} of {human_size(limit)}"
    need = request.needed_bytes
    free = max(state.peak.low - used.high, 0) if state.peak else 0
    if need is not None and need <= free:
        largest = state.largest_free_chunk
        block = f"; the largest free block listed is {human_size(largest)}" if largest else ""
        headline = because = (
            f"the pool had held {human_size(state.peak or used)} before (MaxInUse), so about {human(free)} of"
            f" it was free now, in pieces of less than {human(need)} each{block}"
        )
        advice = [remedies.REMAPPED_PAGES, remedies.FIXED_SHAPES, _WHOLE]
    elif need is not None:
        headline = because = (
            f"{human(left)} of the {human_size(limit)} limit was not in use, so the free memory lay in"
            f" pieces or"
            " the device had no more to give"
        )
        advice = [_WHOLE, _USERS, remedies.REMAPPED_PAGES]
    elif used.bytes >= _FULL * limit.bytes:
        headline = f"the pool was full, with {of_limit} in use: any request above {human(left)} fails"
        because = f"the pool was full, so any request above {human(left)} fails"
        advice = [*remedies.offered(case, moment, "smaller-batch"), _WHOLE]
    else:
        headline = because = (
            f"only {percent(used.bytes, limit.bytes)} of the limit was in use, so the request was larger"
            f" than the"
            " rest, the free memory lay in pieces, or the device had no more to give"
        )
        advice = [_WHOLE, _USERS]
    largest = state.largest_allocation
    return Finding(
        severity=Severity.FACTOR,
        headline=headline,
        because=because,
        explains=used.bytes if used.bytes >= _FULL * limit.bytes else left,
        evidence=(
            Evidence(f"in use: {human_size(used)}", state.line_of("in_use")),
            *(
                [
                    Evidence(
                        f"the largest allocation so far: {human_size(largest)}",
                        state.line_of("largest_allocation"),
                    )
                ]
                if largest
                else []
            ),
        ),
        remedies=tuple(advice),
        moment=index,
    )


def _of_chunks(index: int, moment: Moment) -> Finding:
    most = max(moment.attribution.table, key=lambda row: row.total_bytes)
    share = percent(most.total_bytes, held(moment))
    what = (
        f"{most.count} chunks of {human(most.size_bytes)} hold {human(most.total_bytes)}, {share} of the"
        f" chunks"
        " that are here"
        if most.count > 1
        else f"one chunk of {human(most.size_bytes)} is {share} of the chunks that are here"
    )
    return Finding(
        severity=Severity.FACTOR,
        headline=f"{what}; the request and the limit are in a part of the dump that is not",
        because=what,
        explains=most.total_bytes,
        basis=Basis.MEASURED,
        evidence=(Evidence("the chunks", most.line),),
        remedies=(_WHOLE,),
        moment=index,
    )
