"""The quoted program is PyTorch's, and so is the memory that ran out or grows.

What it means: PyTorch has an allocator of its own, with its own figures and settings. Nothing that TensorFlow
or JAX print or offer applies to it.
When it fires: words tell that memory ran out or grows, no message was found, and the quoted code imports
PyTorch beside no other framework.
What to do: ask PyTorch itself what holds a GPU, or measure the process where it is host RAM.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.capture import PYTORCH_ALONE
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_ITS_FIGURES = Remedy(
    "of a GPU ask PyTorch for its figures, and of host RAM measure the process before and after each part;"
    " ask where that library's users are, with these figures",
    "print(torch.cuda.memory_summary())   # host RAM: psutil.Process().memory_info().rss",
    slug="other-framework",
)


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    code = told.shows(PYTORCH_ALONE)
    line = told.shows("running short") or told.shows("growing in words")
    if code is None or line is None or case.moments or told.foreign or told.elsewhere:
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
