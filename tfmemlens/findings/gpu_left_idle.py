"""The text says that a GPU does nothing, and the failing tensor lay in host RAM: the GPU is not used.

What it means: a build without CUDA, or one that finds no library of it, computes on the CPU without an error.
Host RAM then holds what was meant for the GPU.
When it fires: the failing device is a CPU, a tensor of the program failed, and a line says that the GPU is at
0 % or 0 MiB, idle or not used.
What to do: install the build for the GPU; what failed must become smaller as well, since a GPU has less
memory than most machines have RAM.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.actions import IDLE
from tfmemlens.findings.support.rows import failures, on_host
from tfmemlens.findings.support.situation import framework_name
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    idle = case.capture.surroundings.shows("a GPU left idle")
    for index, moment in list(failures(case))[:1]:
        failed = moment.request.failed if moment.request else None
        if idle is None or failed is None or failed.kind is not RequestKind.TENSOR or not on_host(moment):
            continue
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                f"{idle.place} {IDLE}, and this tensor lay in host RAM: {framework_name(case)} does not use"
                " the GPU"
            ),
            evidence=(Evidence("what the text says", idle), Evidence("the message", failed.line)),
            remedies=(
                Remedy(
                    f"{idle.place} {IDLE}: install the build of {framework_name(case)} for GPUs, with the"
                    " CUDA that its release asks for. A GPU has less memory than the machine has RAM, so what"
                    " failed must become smaller as well",
                    code_snippets.devices(case.api),
                    slug="check-the-device",
                ),
            ),
            moment=index,
        )
