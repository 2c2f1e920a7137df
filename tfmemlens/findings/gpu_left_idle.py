"""The text says that a GPU does nothing, and the failing tensor lay in host RAM: the GPU is not used.

What it means: a build without CUDA, or one that finds no library of it, computes on the CPU without an error.
Host RAM then holds what was meant for the GPU.
When it fires: the failing device is a CPU, a tensor of the program failed, and a line says that the GPU is at
0 % or 0 MiB, idle or not used; or JAX says that it falls back to the CPU, and a GPU is named.
What to do: install the build for the GPU; what failed must become smaller as well, since a GPU has less
memory than most machines have RAM.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.actions import IDLE
from tfmemlens.findings.support.rows import failures, on_host
from tfmemlens.findings.support.situation import JAX, framework_name, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex

BASIS = Basis.NAME
EXPLAINS = "no bytes"


def _without_one(case: Case) -> Iterator[Finding]:
    """JAX says that it found no GPU, and the text names one: it asked for host RAM, and computes there."""
    told = case.capture.surroundings
    line, named = told.shows("without a GPU"), told.named_devices
    if line is None or framework_of(case) != JAX or not (named or told.shows("a GPU named")):
        return
    for index, moment in list(failures(case))[:1]:
        if not on_host(moment) or not _FALLS_BACK.search(line.text):
            continue
        what = f"{line.place} says that JAX found no GPU and computes on the CPU, so this asked for host RAM"
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            evidence=(Evidence("what JAX says", line),),
            remedies=(
                Remedy(
                    "install the build of JAX for the GPU, and see that it is listed. A GPU has less memory"
                    " than this asked for, as a rule: a smaller batch may be needed as well",
                    "pip install -U 'jax[cuda12]'; python -c 'import jax; print(jax.devices())'",
                    slug="check-the-device",
                ),
            ),
            moment=index,
        )


_FALLS_BACK = regex(r"(?i)falling back to cpu")


def check(case: Case) -> Iterator[Finding]:
    idle = case.capture.surroundings.shows("a GPU left idle")
    yield from _without_one(case)
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
