"""A gradient of a gradient: the tape inside the tape keeps every activation twice.

What it means: a gradient penalty, a Hessian or a meta-learning step differentiates a backward pass. What the
inner backward pass made is kept as well, beside the activations that it read, so that the step needs about
twice the memory of a plain one.
When it fires: the failing op's name is that of a gradient inside a gradient; or the traceback's own lines are
in a function of a gradient penalty; or a loop of the program, under a tape, takes a gradient of each of
several outputs with a tape inside that one.
What to do: compute the penalty for part of the batch, or only every few steps; of a Hessian take products
with vectors, which no matrix of all parameters is needed for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import place, requests
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

if TYPE_CHECKING:
    from tfmemlens.findings.support.taped_loop import EachOutput

BASIS = Basis.SHAPE
EXPLAINS = "no bytes"

_TWICE = regex(r"gradient_tape/(?:[^/]+/)*?gradient_tape/|_grad(?:_\d+)?/\w+_grad(?:_\d+)?/")
_PENALTY = regex(r"(?i)gradient_?penalty|\bgp_tape\.(?:gradient|batch_jacobian)\(|\bgrad_penalty")


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in list(requests(case))[:1]:
        if each := _each_output(case, request):
            yield _of_each(case, index, moment, each)
            continue
        if not _TWICE.search(request.failed.node or ""):
            yield from _penalty(index, moment, request)
            continue
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                "the failing op differentiates a gradient, as a gradient penalty does: what the inner"
                " backward pass made is kept, too"
            ),
            because="it failed in a gradient of a gradient, which keeps the inner backward pass as well",
            evidence=(Evidence(f"a gradient inside a gradient: {place(moment)}", request.failed.line),),
            remedies=(_ON_PART,),
            moment=index,
        )


def _each_output(case: Case, request: Request) -> EachOutput | None:
    """The loop, where a program is known that opens a tape; trees are read only there."""
    program = case.capture.surroundings.program()
    if not program or request.failed.kind is not RequestKind.TENSOR:
        return None
    from tfmemlens.findings.support.taped_loop import gradient_of_each

    return gradient_of_each(program)


def _of_each(case: Case, index: int, moment: Moment, each: EachOutput) -> Finding:
    """One backward pass for every output, all of them kept for the derivative of what is made of them."""
    what = (
        f"each turn of the loop of {each.loop.place} takes a gradient by `{each.by}`, and the tape of"
        f" {each.outer.place} keeps every one of these backward passes"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        evidence=(Evidence("the loop", each.loop), Evidence("the tape around it", each.outer)),
        remedies=(
            Remedy(
                "where only the sum of their squares counts, estimate it with one gradient in a random"
                " direction (`y`: all outputs as one tensor): the same on average, and the penalty still"
                " trains",
                f"g = {each.tape}.gradient(y, {each.by}, output_gradients=tf.random.normal(tf.shape(y)))",
                slug="one-random-direction",
            ),
            *remedies.offered(case, moment, "smaller-batch"),
        ),
        moment=index,
        rules_out=("first-order", "penalty-on-part"),
    )


_ON_PART = Remedy(
    "compute the gradient penalty for part of the batch, or only every few steps", slug="penalty-on-part"
)


def _penalty(index: int, moment: Moment, request: Request) -> Iterator[Finding]:
    """The program's own lines are in a gradient penalty."""
    failed = request.failed
    shown = f"{failed.source_text or ''} {' '.join(f'{each.name} {each.text}' for each in failed.frames)}"
    if failed.kind is not RequestKind.TENSOR or not _PENALTY.search(shown):
        return
    at = f" ({failed.source})" if failed.source else ""
    what = (
        f"it failed in a gradient penalty{at}, whose outer tape keeps a backward pass and its activations"
        " beside the plain loss's"
    )
    yield Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence(f"a line of the penalty: {place(moment)}", failed.line),),
        remedies=(_ON_PART,),
        moment=index,
    )
