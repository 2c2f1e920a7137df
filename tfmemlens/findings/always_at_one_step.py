"""Each run fails at one and the same step, whatever the batch: the batch is not to blame.

What it means: what a step needs falls with its batch. A failure that comes at the same step at a batch of 1
and of 4 has another cause: something that grows by as much in each step, or something that only this step
does (a sample of another shape, a branch, a report).
When it fires: the text says that it always fails at one step, and that the batch plays no part or that
several batches failed.
What to do: look at what this step is given, and at what is in use before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import on_host, requests
from tfmemlens.findings.support.situation import JAX, TORCH_XLA, framework_of
from tfmemlens.findings.support.tried import several_failed
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line

BASIS = Basis.NAME
EXPLAINS = "the request"

_GROWS = {
    TORCH_XLA: "a graph that grows because steps are not ended, or tensors that are kept",
    JAX: "arrays that are kept",
}
_NEW_SHAPE = "an input of a new shape, for which a larger program is compiled"
_LARGER = "a larger sample, an evaluation, a report"


def check(case: Case) -> Iterator[Finding]:
    step, said = case.capture.surroundings.shows("always at one step"), _whatever_the_batch(case)
    if step is None or said is None:
        return
    framework = framework_of(case)
    grows = _GROWS.get(framework or "", "what is kept from step to step")
    new = _NEW_SHAPE if framework in (JAX, TORCH_XLA) else _LARGER
    for index, moment, request in list(requests(case))[:1]:
        same = f"it fails at the same step ({step.place}) whatever the batch"
        either = (
            f"so either something grows with each step ({grows}), or this step brings something of its own"
            f" ({new})"
        )
        if _of_one_program(case, moment):
            either = (
                "and what does not fit is one program, with what it is given, which nothing of earlier steps"
                " makes larger: most likely this step's input is larger than the others, so that a program of"
                " its own is compiled for it"
            )
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{same}: the batch is not to blame",
            because=f"{same}, {either}",
            explains=request.needed_bytes,
            evidence=(
                Evidence("always at one step", step),
                *((Evidence("the batch plays no part", said),) if said != step else ()),
            ),
            remedies=tuple(_remedies(case, _of_one_program(case, moment))),
            moment=index,
        )


def _of_one_program(case: Case, moment: Moment) -> bool:
    """Whether the compiler says that one program needs more than a TPU has, whose steps are ended."""
    compiler = moment.incident.compiler if moment.incident else None
    planned = compiler is not None and bool(compiler.needed and compiler.capacity)
    ended = framework_of(case) == JAX or case.capture.surroundings.shows("ending steps") is not None
    return planned and ended


def _whatever_the_batch(case: Case) -> Line | None:
    """Where the text says that the batch plays no part, or the last of several batches that failed alike."""
    told = case.capture.surroundings
    if told.shows("a smaller batch helps"):
        return None
    tried = told.setting("failed_batch")
    several = tried[1] if tried and several_failed(case) else None
    return told.shows("any batch alike") or several


def _remedies(case: Case, of_one_program: bool) -> Iterator[Remedy]:
    framework = framework_of(case)
    if of_one_program:
        yield Remedy(
            "print the shapes that this step is given, and give it no larger ones: crop or tile a large"
            " sample, or bring all to one size before they are batched",
            _PRINTED.get(framework or ""),
            slug="what-runs-then",
        )
        return
    yield Remedy(
        "print the shapes that each step is given, and start right at this step: if it fails there at once,"
        " this input is to blame (cut it, or pad all to one shape); if not, something grows",
        _PRINTED.get(framework or ""),
        slug="what-runs-then",
    )
    told = case.capture.surroundings
    if framework == TORCH_XLA and not told.shows("ending steps"):
        yield Remedy(
            "end each step, so that the graph does not grow over several, and keep numbers instead of tensors"
            " (loss.item())",
            "xm.mark_step()   # torch_xla.sync() in newer versions",
            slug="mark-step",
        )
    if framework == TORCH_XLA:
        yield Remedy(
            "see whether programs are compiled anew at this step: the number of CompileTime's samples then"
            " rises",
            "import torch_xla.debug.metrics as met; print(met.metrics_report())",
            slug="count-compilations",
        )
    else:
        on_ram = any(on_host(moment) for moment in case.moments[:1])
        yield find_what_grows(case, of_host=on_ram)


_PRINTED = {
    TORCH_XLA: "print(step, [tuple(t.shape) for t in batch])",
    JAX: "print(step, jax.tree.map(jnp.shape, batch))",
}
