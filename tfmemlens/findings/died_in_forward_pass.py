"""The step died before its backward pass: the real need is higher still.

What it means: nothing that is alive belongs to a backward pass, so this training step had not reached its
peak. Saving just the missing bytes moves the failure, it does not cure it.
When it fires: a training step (gradient or optimizer names occur in the input) fails in a forward op and no
gradient is alive; or the forward pass of a known training front end.
What to do: plan for more than the missing bytes: gradients of activations and weights are still to come.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.rows import attributed, has_backward, place, requests
from tfmemlens.model.attribution import Phase
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        owner = request.owner
        training = "train" in (request.failed.function or "")
        if (
            owner.phase is not Phase.FORWARD
            or other_than_training(case, request)
            or has_backward(moment)
            or not (attributed(moment) or training)
            or request.failed.kind.name != "TENSOR"
        ):
            continue
        if not training and len(moment.attribution.table) < 3:
            continue
        yield Finding(
            severity=Severity.NOTE,
            headline=(
                "no gradient is alive yet: if this is training, the peak was still to come, so saving only"
                " the missing bytes will not be enough"
            ),
            evidence=(
                Evidence(f"the failing op is in the forward pass: {place(moment)}", request.failed.line),
            ),
            moment=index,
        )
