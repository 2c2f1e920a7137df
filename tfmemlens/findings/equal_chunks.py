"""Many tensors as large as the failing one are alive: one for each iteration, step or layer.

What it means: a dump has no names, but sizes tell: when most of the memory lies in chunks of exactly the
failing tensor's size, the same tensor is kept again and again. In a while loop that is the state of each
iteration, kept for the backward pass. After some steps that went well it is a result that each step leaves
behind. Otherwise it may be as many layers of one shape.
When it fires: at least four chunks of the request's size hold at least half of what is in use, and no report
names their owners.
What to do: find the list that keeps them (history of losses or gradients, outputs of a loop); keep numbers
instead of tensors.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import attributed, held, requests, tensor_text
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human, percent, round_up

BASIS = Basis.MEASURED
EXPLAINS = "the chunks of the failing tensor's size"

_MIN_REQUEST_BYTES = 16 << 10


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        need = request.needed_bytes
        if need is None or need < _MIN_REQUEST_BYTES or attributed(moment):
            continue
        equal = [row for row in moment.attribution.table if row.size_bytes == round_up(need)]
        count, size = sum(row.count for row in equal), sum(row.total_bytes for row in equal)
        if count < 4 or size < 0.5 * held(moment):
            continue
        share = percent(size, held(moment))
        what = f"{count} chunks of exactly this size are in use already, {human(size)}, {share} of all"
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=f"{what}{_meaning(case, moment)}",
            explains=size,
            basis=None if _meaning(case, moment) else Basis.NAME,
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line), *_lines(equal)),
            detail="A dump has no names; that these are the same tensor over and over is likely, not proved.",
            remedies=tuple(_remedies(case, moment)),
            moment=index,
        )


def _lines(equal: list[Allocation]) -> Iterator[Evidence]:
    for row in equal[:1]:
        yield Evidence(f"{row.count} x {human(row.size_bytes)}", row.line)


def _steps(case: Case) -> int:
    return len({step for step, _ in case.capture.surroundings.steps})


def _meaning(case: Case, moment: Moment) -> str:
    if moment.request and moment.request.owner.in_loop:
        return ": the state that a loop keeps of each iteration"
    if _steps(case) >= 3:
        return ", as if each step left one behind"
    return ""


def _remedies(case: Case, moment: Moment) -> Iterator[Remedy]:
    if moment.request and moment.request.owner.in_loop:
        yield Remedy(
            "cut the sequence into pieces (truncated backpropagation): memory grows with the number of"
            " iterations",
            slug="truncate",
        )
    elif _steps(case) >= 3:
        yield Remedy(
            "keep numbers, not tensors, between steps",
            "history.append(float(loss))   # not history.append(loss)",
            slug="keep-numbers",
        )
    else:
        yield Remedy(
            "look for a list that keeps tensors: losses, gradients to be accumulated, outputs of a Python"
            " loop; add them up as you go",
            slug="look-for-lists",
        )
    yield from remedies.offered(case, moment, "smaller-batch")
