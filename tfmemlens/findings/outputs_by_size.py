"""Chunks without names have the size of the output that failed, times a power of two: outputs of its kind.

What it means: a dump has no names, but the outputs of a net's layers share factors: the batch, and the odd
part of the image's sides or of the width, stand in all of them; from level to level the rest doubles and
halves. Chunks with the same odd part as the tensor that failed are most likely outputs of other layers, which
training keeps for the backward pass.
When it fires: no report names owners; the request is a layer's output of three dimensions and more, whose
size has an odd part that square kernels do not have (9, 25, 49); and at least six chunks of at least two
sizes, each the request's times or by a power of two up to 64, hold two fifths of what is in use. Where chunks
of the request's own size alone hold half, `equal-chunks` says it.
What to do: a smaller batch (with gradient accumulation), half precision, recomputation, a smaller input.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import (
    all_in_use,
    attributed,
    chunk_evidence,
    enumerated,
    is_forward_only,
    requests,
    tensor_text,
)
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.units import human, percent

BASIS = Basis.SHAPE
EXPLAINS = "the blocks of these sizes"
HEDGED = (Severity.CAUSE,)

_KERNELS = (1, 9, 25, 49)
"""Odd parts that weights of square kernels have, too, or everything."""
_MOST_TIMES, _LEAST_CHUNKS, _LEAST_SHARE = 64, 6, 0.4


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        if attributed(moment):
            continue
        alike, in_use = outputs_alike(moment, request), all_in_use(moment)
        size, own = _total(alike), _total([row for row in alike if row.size_bytes == request.needed_bytes])
        if (
            len({row.size_bytes for row in alike}) < 2
            or sum(row.count for row in alike) < _LEAST_CHUNKS
            or size < _LEAST_SHARE * in_use
            or own >= 0.5 * in_use
        ):
            continue
        count = sum(row.count for row in alike)
        waits = "" if is_forward_only(moment) else ", kept for the backward pass"
        what = (
            f"{percent(size, in_use)} of what is in use ({human(size)}) is most likely outputs of other"
            f" layers{waits}: {count} blocks of {_sizes(alike)}, {_times(alike, request)} what was requested"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=size,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *chunk_evidence(alike),
            ),
            detail="A dump has no names: that the sizes share all odd factors makes it likely, not proved.",
            remedies=remedies.offered(
                case, moment, "smaller-batch", "mixed-precision", "recompute", "smaller-input"
            ),
            moment=index,
        )


def _is_output(request: Request) -> bool:
    """Whether a layer's output or its gradient was asked for, whose size others may share."""
    need = request.needed_bytes
    return (
        bool(need)
        and not request.fixed
        and request.owner.kind not in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.WORKSPACE)
        and request.owner.phase is not Phase.OPTIMIZER
        and len(request.failed.shape or ()) >= 3
        and _odd_part(need or 1) not in _KERNELS
    )


def _odd_part(number: int) -> int:
    return number // (number & -number)


def outputs_alike(moment: Moment, request: Request) -> list[Allocation]:
    """The chunks whose size is the request's, of an output, times or by a power of two, largest first."""
    if not _is_output(request):
        return []
    need = request.needed_bytes or 1
    outputs = [
        row
        for row in moment.attribution.table
        if row.size_bytes
        and _odd_part(row.size_bytes) == _odd_part(need)
        and need <= row.size_bytes * _MOST_TIMES
        and row.size_bytes <= need * _MOST_TIMES
    ]
    return sorted(outputs, key=lambda row: -row.size_bytes)


def _total(rows: list[Allocation]) -> int:
    return sum(row.total_bytes for row in rows)


def _sizes(rows: list[Allocation]) -> str:
    told = [human(row.size_bytes) for row in rows[:3]]
    return f"{', '.join(told)}, ..." if len(rows) > 3 else enumerated(told)


def _times(rows: list[Allocation], request: Request) -> str:
    """`2, 1 and 1/2 times`."""
    told = [f"{Fraction(row.size_bytes, request.needed_bytes or 1)}" for row in rows[:3]]
    return f"{', '.join(told)}, ... times" if len(rows) > 3 else f"{enumerated(told)} times"
