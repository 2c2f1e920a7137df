"""A gradient tape keeps most of what is in use, and no loop under it is known that makes it.

What it means: an open tape keeps what its backward pass needs until the gradient is taken, of eager ops each
output that a gradient is computed from. What repeats under it is kept as often.
When it fires: the program recorded itself (`run --trace`), a tape was open at the failure, and the tensors
that it alone led to make up a third of what was in use; no loop of the program's code explains them.
What to do: let less run under one tape: parts with a tape and a gradient of their own, a smaller batch, or
outputs that are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.kept import TAPE_INSIDE, loop_of_a_tape
from tfmemlens.findings.support.rows import all_in_use, requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.live_model import HeldTensors, Holder
from tfmemlens.model.tensor import format_shape
from tfmemlens.units import human, percent
from tfmemlens.values import replace

BASIS = Basis.MEASURED
EXPLAINS = "the tensors that the tape holds, no more than is in use: views of one buffer count as tensors"

_LEAST_SHARE = 1 / 3
_MAX_EVIDENCE = 3
_PARTS = replace(
    TAPE_INSIDE,
    text="let less run under one tape: take the gradient of each part (a term of the loss, a piece of the"
    " sequence, a micro-batch) with a tape of its own, and add the gradients up",
)


def check(case: Case) -> Iterator[Finding]:
    taped = [(group, each) for group in case.capture.living for each in group.holders if each.is_tape]
    for index, moment, request in list(requests(case))[:1]:
        in_use = all_in_use(moment)
        held = min(sum(holder.bytes for _, holder in taped), in_use or 0)
        if not in_use or held < _LEAST_SHARE * in_use or loop_of_a_tape(case, request):
            continue
        opened = f" of {place}" if (place := taped[0][1].place) else ""
        what = f"the gradient tape{opened} keeps {human(held)} for its backward pass"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: {percent(held, in_use)} of what was in use",
            because=what,
            explains=held,
            evidence=tuple(_evidence(taped)),
            detail="No name of the program leads to these tensors, and a tape was open. They are outputs of"
            " eager ops; what repeats under the tape is kept as often.",
            remedies=(_PARTS, *remedies.offered(case, moment, "smaller-batch", "recompute")),
            moment=index,
            rules_out=("look-for-lists",),
        )


def _evidence(taped: list[tuple[HeldTensors, Holder]]) -> Iterator[Evidence]:
    for group, holder in sorted(taped, key=lambda each: -each[1].bytes)[:_MAX_EVIDENCE]:
        text = (
            f"{holder.count} x {format_shape(group.tensor.shape)} {group.tensor.dtype}, {human(holder.bytes)}"
        )
        yield Evidence(text, holder.line)
