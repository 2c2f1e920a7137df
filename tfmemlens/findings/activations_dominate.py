"""Most of the memory is activations: outputs of the forward pass that wait for the backward pass.

What it means: training keeps the output of nearly every op until its gradient has been computed. These bytes
grow with the batch and with the image or sequence, not with the number of weights. Nothing is wrong by
itself; it is the price of the batch. Without a backward pass only what later ops still read is alive.
When it fires: at least half of the attributed bytes are activations.
What to do: a smaller batch (with gradient accumulation), half precision, recomputation, a smaller input.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import (
    attributed,
    held,
    is_forward_only,
    most_in,
    of_kind,
    quote,
    total,
)
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.units import human, percent

BASIS = Basis.NAME
EXPLAINS = "all activations that are alive"


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        if moment.incident and moment.incident.compiler:
            continue  # a compiler lists its largest buffers only, and names no time
        kept = of_kind(moment, Kind.ACTIVATION)
        share = total(kept) / max(held(moment), 1)
        if share < 0.5 or not attributed(moment):
            continue
        forward_only = is_forward_only(moment)
        purpose = "alive at once in the forward pass" if forward_only else "kept for the backward pass"
        most = most_in(moment, Kind.ACTIVATION)
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"{percent(total(kept), held(moment))} of {human(held(moment))} are activations"
                f" {purpose}{most}"
            ),
            because=(
                f"{percent(total(kept), held(moment))} of the {human(held(moment))} held are layer outputs"
                f" (activations) {purpose}{most}"
            ),
            explains=total(kept),
            evidence=tuple(quote(row) for row in kept[:3]),
            remedies=remedies.offered(
                case, moment, "smaller-batch", "mixed-precision", "recompute", "smaller-input"
            ),
            moment=index,
        )
