"""The run went well for a while and failed later.

What it means: the first step fitted, so the model fits; something is larger later. Either a batch was bigger
(longer sequences, the last odd batch, an evaluation), or memory grows from step to step: tensors kept in a
Python list, ops added to the graph in the loop, a tf.function retraced for every new shape.
When it fires: the log counts at least two epochs, four steps or up to ten before the failure, prose says that
many went well, or the in-use figure rises from failure to failure. Not at the first step of another stage;
where the counter began again it says so.
What to do: compare the failing shape with the usual ones; if it is usual, look for growth.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tfmemlens.findings.bare_message import of_shuffling
from tfmemlens.findings.support.code_snippets import ONE_SIGNATURE
from tfmemlens.findings.support.growth import rising
from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.rows import failures, held, on_host, rows
from tfmemlens.findings.support.situation import JAX, TENSORFLOW, framework_of
from tfmemlens.findings.support.stage import began_again, began_stage, counters_before, is_epoch
from tfmemlens.findings.support.told_again import SHUFFLE_NAMES, SMALLER_SHUFFLE
from tfmemlens.findings.support.watching import find_what_grows
from tfmemlens.findings.support.xla_arena import facts
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import CompilerMemory
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "the growth from the first failure to the last"
HEDGED = (Severity.FACTOR, Severity.NOTE)

_REMEDIES = (
    Remedy(
        "compare the failing shape with the shapes of earlier batches; cap or bucket the lengths if it is"
        " longer",
        slug="compare-shapes",
    ),
    Remedy(
        "make sure that the loop adds no ops: freeze the graph before it, and whoever adds one gets an error",
        "tf.get_default_graph().finalize()",
        slug="finalize-graph",
    ),
    Remedy(
        "keep numbers, not tensors, between steps",
        "losses.append(float(loss))   # not losses.append(loss)",
        slug="keep-numbers",
    ),
    Remedy(
        "a tf.function is traced anew for every new shape or Python value; give it one signature",
        ONE_SIGNATURE,
        slug="one-signature",
    ),
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in list(failures(case))[:1]:
        assert moment.request
        before = counters_before(case, moment.request)
        if began_stage(case, moment.request):
            continue
        rose = rising(case)
        eager = rows(
            moment, lambda row: (row.allocation.node or "").startswith(("_EagerConst", "__wrapped__"))
        )
        said = None if rose or _many(before) or moment.balance.in_use else _said(case)
        if rose is None and not _many(before) and said is None:
            continue
        last, line = before[-1] if before else (0, moment.request.failed.line)
        headline = f"memory in use rose from failure to failure, to {human(rose[-1] if rose else 0)}"
        if said:
            headline = f"it went well for a while, as {said.place} says"
        elif before:
            headline = f"the run failed after step or epoch {last}, not at the first"
        if rose is None and began_again(before):
            yield _of_another_round(before, index)
            continue
        fixed = _of_a_weight(moment.request) or _of_one_size(case, moment.request)
        buffer = _buffer_of_shuffle(case, moment)
        grows = f"; the buffer of shuffle ({buffer.place}) is filled anew at each epoch" if buffer else ""
        yield Finding(
            severity=Severity.CAUSE if rose is not None else Severity.FACTOR,
            headline=f"{headline}: {'' if fixed else 'a bigger batch, or '}something that grows",
            because=(
                f"{headline}, and what it asked for is as large at each step, so memory grows from step to"
                f" step, or something else took it{grows}"
                if fixed
                else f"{headline}, so either this batch was bigger or memory grows from step to step"
            ),
            explains=rose[-1] - rose[0] if rose else None,
            basis=Basis.MEASURED if rose else None,
            evidence=(
                Evidence("steps before the failure" if before and not said else "the failure", said or line),
                *(
                    Evidence(f"held by eager tensors: {human(held(moment))}", row.allocation.line)
                    for row in eager[:1]
                ),
            ),
            remedies=_remedies(case, moment, bool(said), fixed, buffer is not None),
            moment=index,
        )


def _remedies(case: Case, moment: Moment, said: bool, fixed: bool, buffer: bool) -> tuple[Remedy, ...]:
    """What looks for growth; where only words tell of it, first the buffer that they name. Who wrote no loop
    looks for nothing in it.
    """
    if said:
        assert moment.request
        return (
            *of_shuffling(moment.request.failed),
            *((SMALLER_SHUFFLE, SHUFFLE_NAMES) if buffer else ()),
            find_what_grows(case, on_host(moment)),
            *(_REMEDIES[2:3] if fixed else _REMEDIES[::2]),
        )
    if fixed and case.capture.surroundings.shows("using a tool"):
        return ()
    return _REMEDIES[fixed or _was_full(case, moment) :]


def _was_full(case: Case, moment: Moment) -> bool:
    """Whether a JAX device was full before so small a request, which no longer batch explains."""
    if framework_of(case) != JAX or moment.request is None:
        return False
    compiler = moment.incident.compiler if moment.incident else None
    if compiler is None and moment.request.failed.compiled:
        compiler = CompilerMemory()  # JAX says no more than its allocator's dump
    return compiler is not None and facts.is_full(case, moment, compiler)


_AVERAGES = regex(r"(?:^|/)AssignMovingAvg")


def _of_a_weight(request: Request) -> bool:
    """Whether what was asked for is as large as a weight, which no batch changes."""
    of_model = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    return request.fixed or of_model or bool(_AVERAGES.search(request.failed.node or ""))


def _of_one_size(case: Case, request: Request) -> bool:
    """Whether it is a map of images with equal sides, and no word tells of several sizes: each step asks for
    as much then.
    """
    shape = request.failed.shape or ()
    sides = [one for one, other in pairwise(shape) if one == other and one is not None and one >= _LEAST_SIDE]
    told = case.capture.surroundings
    several = any(map(told.shows, ("many sizes", "several sizes in words")))
    return len(shape) >= _LEAST_RANK and bool(sides) and not several and framework_of(case) == TENSORFLOW


_LEAST_RANK, _LEAST_SIDE = 3, 32
_SHUFFLES = regex(r"\.shuffle\(\s{0,4}(?:buffer_size\s{0,4}=\s{0,4})?\d{3,9}")


def _buffer_of_shuffle(case: Case, moment: Moment) -> Line | None:
    """The line of code, else of the log, that tells of a buffer of many elements in host RAM."""
    if not on_host(moment) or framework_of(case) != TENSORFLOW:
        return None
    told = case.capture.surroundings
    code = (line for line in (*told.code, *code_lines(told)) if _SHUFFLES.search(line.text))
    logged = (line for what, line in told.pipeline_buffers if "shuffle" in what)
    return next(code, None) or next(logged, None)


def _said(case: Case) -> Line | None:
    """The line of prose that says that many steps went well, in a program of TensorFlow's."""
    line = case.capture.surroundings.shows("failing late")
    if line is None or framework_of(case) != TENSORFLOW:
        return None
    soon = _FIRST_EPOCH.search(line.text) and not _MANY_IN_WORDS.search(line.text)
    return None if soon else line


_FIRST_EPOCH = regex(r"(?i)\bfirst epoch\b")
_MANY_IN_WORDS = regex(r"(?i)\b\d{3,}(?:th|st|nd|rd)? (?:steps?|batch|iter)|\b(?:steps?|iterations?) \d{3,}")


_MANY_STEPS, _MANY_COUNTERS = 10, 4
"""After fewer steps, batches of several sizes are as likely as growth; of whole epochs two are many."""


def _many(before: list[tuple[int, Line]]) -> bool:
    """Whether the run went well for so long that something must be larger than it was."""
    epochs = {step for step, line in before if is_epoch(line)}
    steps = {step for step, line in before if not is_epoch(line)}
    many = len(steps) >= _MANY_COUNTERS or (len(steps) >= 2 and max(steps) >= _MANY_STEPS)
    return len(epochs) >= 2 or many


def _of_another_round(before: list[tuple[int, Line]], index: int) -> Finding:
    """The counter began again, and nothing followed: another call of fit, another model."""
    step, line = before[-1]
    headline = f"the run failed at the beginning of another round: it counts from {step} again"
    return Finding(
        severity=Severity.FACTOR,
        headline=f"{headline}, so either this round needs more, or the one before left something behind",
        because=(
            f"{headline}, so either this round needs more (more trained layers, larger images, another"
            " batch), or the one before left something behind"
        ),
        evidence=(Evidence("the counter began again", line),),
        remedies=(_SAME_SIZE, _CLEAR),
        moment=index,
    )


_SAME_SIZE = Remedy(
    "compare what this round trains with the one before: trained layers, image size, batch",
    slug="compare-shapes",
)
_CLEAR = Remedy(
    "if it builds a new model: let the one before go first",
    "del model; tf.keras.backend.clear_session()",
    slug="clear-session",
)
