"""The quoted program is PyTorch's, and so is the memory that ran out or grows.

What it means: PyTorch has an allocator of its own, with its own figures and settings. Nothing that TensorFlow
or JAX print or offer applies to it.
When it fires: words tell that memory ran out or grows, no message was found, and the quoted code imports
PyTorch beside no other framework, or lines of its log or its traceback are of a library of PyTorch's; then
of a driver's refusal as well, which names no size.
What to do: ask PyTorch itself what holds a GPU, or measure the process where it is host RAM.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.capture import PYTORCH_ALONE
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_ITS_FIGURES = Remedy(
    "of a GPU ask PyTorch for its figures, and of host RAM measure the process before and after each part;"
    " ask where that library's users are, with these figures",
    "print(torch.cuda.memory_summary())   # host RAM: psutil.Process().memory_info().rss",
    slug="other-framework",
)

_ITS_TRACEBACK = Remedy(
    "add the traceback of the process or rank that failed, and compare what each holds just before: settings"
    " of TensorFlow or JAX change nothing there",
    "nvidia-smi --query-compute-apps=pid,used_memory --format=csv",
    slug="see-device-users",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    code = told.shows(PYTORCH_ALONE)
    if code is None or told.foreign or told.elsewhere:
        return
    if case.moments:
        yield from _of_the_driver(case, code)
        return
    line = told.shows("running short") or told.shows("growing in words")
    if line is None:
        return
    yield Finding(
        severity=Severity.NOTE,
        headline=(
            f"the text says in words that memory is short ({line.place}), in a program of PyTorch's"
            f" ({code.place}): tfmemlens reads what TensorFlow, JAX and XLA write, and knows nothing of its"
            " memory"
        ),
        evidence=(Evidence("what the text says", line), Evidence("the program", code)),
        remedies=(_ITS_FIGURES,),
    )


def _of_the_driver(case: Case, code: Line) -> Iterator[Finding]:
    """A refusal of CUDA's driver names no framework: the program's own log does."""
    for index, moment in failures(case):
        failed = moment.request.failed if moment.request else None
        if failed is None or failed.kind is not RequestKind.DRIVER or failed.size:
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"CUDA had no memory left for a program of PyTorch's ({code.place}): tfmemlens reads what"
                " TensorFlow, JAX and XLA write, and nothing here is of them"
            ),
            because=(
                f"the program is PyTorch's ({code.place}), whose memory tfmemlens does not read, and nothing"
                " here is of TensorFlow or JAX"
            ),
            evidence=(Evidence("the message", failed.line), Evidence("the program", code)),
            remedies=(_ITS_FIGURES, _ITS_TRACEBACK),
            moment=index,
        )
