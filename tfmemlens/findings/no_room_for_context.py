"""The GPU had no room even for a CUDA context: the run had not begun.

What it means: before TensorFlow or JAX can ask for memory, the driver makes a context of a few hundred MiB on
the device. If that fails, other processes hold nearly all of it; model and batch play no part.
When it fires: the driver reports out of memory from a call that makes a context or starts CUDA.
What to do: end the other processes, or choose another GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.driver import of_context
from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.MEASURED
EXPLAINS = "no bytes: the driver states none"


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if not of_context(moment):
            continue
        assert moment.request
        yield Finding(
            severity=Severity.CAUSE,
            headline="the GPU had no room even for a CUDA context of a few hundred MiB: others hold it",
            because="not even a CUDA context of a few hundred MiB fitted, so others hold the GPU",
            evidence=(Evidence("the message", moment.request.failed.line),),
            remedies=(
                Remedy(
                    "see who holds the GPU, and end what you do not need (a notebook keeps its GPU"
                    " memory until"
                    " its kernel stops)",
                    "nvidia-smi",
                    slug="see-device-users",
                ),
                Remedy("or run on another GPU", "export CUDA_VISIBLE_DEVICES=1", slug="another-gpu"),
            ),
            moment=index,
        )
