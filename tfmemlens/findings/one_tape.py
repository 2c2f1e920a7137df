"""One tape around a loop over micro-batches keeps the activations of all of them.

What it means: a tape keeps what its backward pass needs until the gradient is taken. Where that is after a
loop over micro-batches, all of them are kept at once, and the step needs as much as one large batch.
When it fires: the text quotes such code: a tape, in it a loop over micro-batches that calls a model, and the
gradient behind the loop.
What to do: open the tape inside the loop, take the gradient of each micro-batch there, and add them up.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.kept import TAPE_INSIDE
from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.values import replace

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    shown = case.capture.surroundings.one_tape
    for index, moment, request in list(requests(case))[:1]:
        trains = request.failed.kind is RequestKind.TENSOR and not request.failed.pipeline
        if shown is None or (on_host(moment) and not trains):
            continue
        tape, loop = shown
        what = (
            f"one tape ({tape.place}) is around the loop over micro-batches ({loop.place}), so it"
            " keeps the activations of all of them"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}: accumulating saves nothing",
            because=what,
            evidence=(Evidence("the tape", tape), Evidence("the loop inside it", loop)),
            remedies=(
                replace(
                    TAPE_INSIDE,
                    text="open the tape inside the loop, take each micro-batch's gradients there, and add"
                    " them up; apply them once, after the loop",
                ),
            ),
            moment=index,
        )
