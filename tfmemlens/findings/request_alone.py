"""A log that shows what failed, not what was using the memory.

What it means: an exception in a notebook or a traceback holds one sentence of the story. TensorFlow logs the
rest just before it, on standard error: the limit, what was in use and free, every chunk. The op that failed
is where memory ended, seldom where it went.
When it fires: a failed tensor stands alone: no list of live tensors, no allocator's figures.
What to do: halve the batch, which nearly always helps; to know more, explain the process's own log. In Colab
it is under Runtime > View runtime logs, in Jupyter in the terminal of the server, under Slurm in the job's
error file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.rows import failures, tensor_text
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import MIB

BASIS = Basis.NAME
EXPLAINS = "no bytes"
GENERAL = True


_OF_PROGRAMS = (
    remedies.TIDY,
    Remedy(
        "close what each call returns: a Tensor's memory is not the garbage collector's",
        "try (Tensor out = runner.run().get(0)) { ... }",
        slug="close-tensors",
    ),
    Remedy(
        "cap the size of what clients send: resize images, or cut texts, before the request",
        slug="smaller-examples",
    ),
)

_OF_A_KERNEL = regex(r"Conv\w*Backprop(?:Filter|Weights)\w*(?:-\S*)?\Z")
_LARGE_BYTES = 256 * MIB
"""A smaller request most likely failed for what other calls left behind."""
_NOTEBOOK = regex(r"(?:Cell )?In ?\[|<ipython-input|/content/|/kaggle/|/tmp/ipykernel_")
_PROGRAM = regex(r"\.py:\d+\Z")


def check(case: Case) -> Iterator[Finding]:
    for index, moment in list(failures(case))[:1]:
        request = moment.request
        if (
            request is None
            or request.failed.kind is not RequestKind.TENSOR
            or request.failed.shape is None
            or _more_is_known(moment)
        ):
            continue
        what = "this log shows what failed, not what was using the memory"
        if _OF_A_KERNEL.search(request.failed.node or ""):
            what = f"the gradient of a kernel, as large whatever the batch; {what}"
        yield Finding(
            severity=Severity.FACTOR,
            headline=what,
            because=what,
            detail=(
                "TensorFlow logs the limit, what was in use and every chunk on standard error, just before"
                " the exception."
                if _logs(moment)
                else ""
            ),
            evidence=(Evidence(f"requested: {tensor_text(moment)}", request.failed.line),),
            remedies=tuple(_remedies(case, moment)),
            moment=index,
        )


def _of_programs(case: Case) -> Iterator[Remedy]:
    yield from _OF_PROGRAMS[:2]
    yield remedies.smaller_requests(case)
    yield from _OF_PROGRAMS[2:]


def _more_is_known(moment: Moment) -> bool:
    books = moment.balance
    return bool(len(moment.attribution.table) or books.in_use or books.limit)


def _remedies(case: Case, moment: Moment) -> Iterator[Remedy]:
    assert moment.request
    large = (moment.request.needed_bytes or 0) >= _LARGE_BYTES
    if not large:
        yield from _of_programs(case)
    owner = moment.request.owner
    if owner.phase is Phase.OPTIMIZER or owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT):
        yield Remedy(
            "shrink the model or its optimizer: the request is for a weight or a slot, so a smaller"
            " batch does not help here",
            slug="smaller-model",
        )
    elif other_than_training(case, moment.request) is None:
        yield from remedies.offered(case, moment, "smaller-batch")
    if large:
        yield from _of_programs(case)
    yield from remedies.offered(case, moment, "mixed-precision")
    if _logs(moment):
        yield _whole_log(moment.request.failed.source or "", situation(case, moment).program)


def _whole_log(source: str, program: str | None = None) -> Remedy:
    """Where the allocator's lines are: a notebook shows the exception alone, a program writes both."""
    if _NOTEBOOK.match(source):
        return Remedy(
            "explain the process's own log, which a notebook does not show: in Colab under Runtime > View"
            " runtime logs, in Jupyter the terminal of the server",
            slug="read-the-log",
        )
    text = (
        "explain the process's whole log: the allocator's lines just before the exception say what was in use"
    )
    if _PROGRAM.search(source) or not (source or program):
        return Remedy(text, "python train.py 2> train.log; tfmemlens explain train.log", slug="read-the-log")
    return Remedy(text, slug="read-the-log")


def _logs(moment: Moment) -> bool:
    """Whether the allocator tells of itself: the plain one of the CPU does not."""
    return bool(moment.request and (moment.request.failed.allocator or "bfc") != "cpu")
