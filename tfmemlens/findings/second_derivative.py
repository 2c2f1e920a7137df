"""A gradient of a gradient: the tape inside the tape keeps every activation twice.

What it means: a gradient penalty, a Hessian or a meta-learning step differentiates a backward pass. What the
inner backward pass made is kept as well, beside the activations that it read, so that the step needs about
twice the memory of a plain one.
When it fires: the failing op's name is that of a gradient inside a gradient.
What to do: compute the penalty for part of the batch, or only every few steps; of a Hessian take products
with vectors, which no matrix of all parameters is needed for.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import place, requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex

BASIS = Basis.SHAPE
EXPLAINS = "no bytes"

_TWICE = regex(r"gradient_tape/(?:[^/]+/)*?gradient_tape/|_grad(?:_\d+)?/\w+_grad(?:_\d+)?/")


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if not _TWICE.search(request.failed.node or ""):
            continue
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                "the failing op differentiates a gradient, as a gradient penalty does: what the inner"
                " backward pass made is kept, too"
            ),
            because="it failed in a gradient of a gradient, which keeps the inner backward pass as well",
            evidence=(Evidence(f"a gradient inside a gradient: {place(moment)}", request.failed.line),),
            remedies=(
                Remedy(
                    "compute the gradient penalty for part of the batch, or only every few steps",
                    slug="penalty-on-part",
                ),
            ),
            moment=index,
        )
