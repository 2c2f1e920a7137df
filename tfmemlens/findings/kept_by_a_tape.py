"""A gradient tape keeps most of what is in use: of eager ops each output that a gradient is computed from.

What it means: an open tape keeps what its backward pass needs until the gradient is taken. What repeats under
it is kept as often.
When it fires: the program recorded itself (`run --trace`), a tape was open at the failure, and the tensors
that it alone led to make up a third of what was in use. The layers are those whose scopes the tensors were
made in; without scopes it is left to rules on the program's code where they know the loop.
What to do: where layers were called again and again, let less run under one tape: parts with a tape and a
gradient of their own. Where each ran once, a smaller batch, or outputs that are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.kept import TAPE_INSIDE, TRUNCATE, loop_of_a_tape
from tfmemlens.findings.support.rows import all_in_use, requests
from tfmemlens.findings.support.taped import Taped, taped
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import human, percent
from tfmemlens.values import replace

BASIS = Basis.MEASURED
EXPLAINS = "the tensors that the tape holds, no more than is in use: views of one buffer count as tensors"

_MAX_EVIDENCE = 3
_PARTS = replace(
    TAPE_INSIDE,
    text="let less run under one tape: take the gradient of each part (a term of the loss, a piece of the"
    " sequence, a micro-batch) with a tape of its own, and add the gradients up",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        held = taped(case, moment)
        if held is None or (held.again is None and loop_of_a_tape(case, request)):
            continue
        what = f"the gradient tape{held.place} keeps {human(held.bytes)} for its backward pass"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: {percent(held.bytes, all_in_use(moment))} of what was in use",
            because=held.in_words,
            explains=held.bytes,
            evidence=tuple(_evidence(held)),
            detail="No name of the program leads to these tensors, and a tape was open. They are outputs of"
            " eager ops; what repeats under the tape is kept as often.",
            remedies=tuple(_remedies(case, moment, request, held)),
            moment=index,
            rules_out=("look-for-lists",),
        )


def _remedies(case: Case, moment: Moment, request: Request, held: Taped) -> Iterator[Remedy]:
    smaller = remedies.offered(case, moment, "smaller-batch", "recompute")
    loop = loop_of_a_tape(case, request)
    if held.again is False:
        yield from smaller
    elif loop is not None and loop.called:  # its turns are one forward pass
        yield from smaller
        yield TRUNCATE
    else:
        yield TAPE_INSIDE if loop is not None else _PARTS
        yield from smaller


def _evidence(held: Taped) -> Iterator[Evidence]:
    for group, holder in sorted(held.parts, key=lambda each: -each[1].bytes)[:_MAX_EVIDENCE]:
        what = f"{holder.count} x {format_shape(group.tensor.shape)} {group.tensor.dtype}"
        made = f", made in {holder.scope}" if holder.scope else ""
        yield Evidence(f"{what}, {human(holder.bytes)}{made}", holder.line)
