"""Gradients are the largest part of what is held.

What it means: gradients of activations are as large as the activations and live for a short time each;
gradients of weights live until they are applied, and with clipping by global norm or aggregation over towers
all of them live at once.
When it fires: at least 40 % of the attributed bytes are gradients, and the shapes of a compiled program's
buffers do not say more (attention scores, logits, what a scan keeps).
What to do: the same levers as for activations; apply gradients without collecting them first where that is
possible.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.main_buffers import main_buffers
from tfmemlens.findings.support.program_account import gradients_through
from tfmemlens.findings.support.rows import cut_list, held, most_in, of_kind, quote, total
from tfmemlens.findings.support.situation import framework_of
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Finding, Remedy, Severity
from tfmemlens.units import human, percent

BASIS = Basis.NAME
EXPLAINS = "all gradients that are alive"


_CLIP = Remedy(
    "weight gradients wait for each other under clip_by_global_norm: clip by value or per variable",
    slug="clip-per-variable",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        gradients = of_kind(moment, Kind.GRADIENT)
        share = total(gradients) / max(held(moment), 1)
        if share < 0.4 or cut_list(moment) or main_buffers(moment, framework_of(case)):
            continue
        part = percent(total(gradients), held(moment))
        most = gradients_through(moment) or most_in(moment, Kind.GRADIENT)
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{part} of {human(held(moment))} are gradients",
            because=f"{part} of the {human(held(moment))} held are gradients{most}",
            explains=total(gradients),
            evidence=tuple(quote(row) for row in gradients[:3]),
            remedies=(
                *remedies.offered(case, moment, "smaller-batch", "mixed-precision"),
                *((_CLIP,) if case.capture.surroundings.clipping else ()),
            ),
            moment=index,
        )
