"""The GPU had no room even for a CUDA context: the run had not begun.

What it means: before TensorFlow or JAX can ask for memory, the driver makes a context of a few hundred MiB on
the device. If that fails, other processes hold nearly all of it; model and batch play no part.
When it fires: the driver reports out of memory from a call that makes a context or starts CUDA. Where several
tasks of the same job tell of it, or the text says that several share the GPU, these are most likely the
others.
What to do: end the other processes, or choose another GPU; give each task of a job a part of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import processes_on_one_device
from tfmemlens.findings.support import own_tasks
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
        own = own_tasks.own_tasks(case, moment)
        who = "others hold it"
        if own:
            who = f"most likely {_TASKS} hold it ({own.place})"
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"the GPU had no room even for a CUDA context of a few hundred MiB: {who}",
            because=(
                f"not even a CUDA context of a few hundred MiB fitted: {own.place} shows that several tasks"
                f" of this job are started, and {processes_on_one_device.each_takes(case)}{_goes_on(case)}"
                if own
                else "not even a CUDA context of a few hundred MiB fitted, so others hold the GPU"
            ),
            evidence=(
                Evidence("the message", moment.request.failed.line),
                *((Evidence("several tasks", own),) if own else ()),
            ),
            remedies=tuple(processes_on_one_device.parts(case)) if own else _END_OTHERS,
            moment=index,
            rules_out=_OF_OTHERS if own else (),
        )


_TASKS = "tasks of the same job"
_OF_OTHERS = ("see-device-users", "another-gpu", "end-the-process")
_END_OTHERS = (
    Remedy(
        "see who holds the GPU, and end what you do not need (a notebook keeps its GPU memory until its"
        " kernel stops)",
        "nvidia-smi",
        slug="see-device-users",
    ),
    Remedy("or run on another GPU", "export CUDA_VISIBLE_DEVICES=1", slug="another-gpu"),
)


def _goes_on(case: Case) -> str:
    """That those that failed go on without the GPU, where JAX says so."""
    said = next((line for what, line in case.capture.surroundings.startup if _ON_THE_CPU in what), None)
    return f"; those without a GPU go on with the CPU, far slower ({said.place})" if said else ""


_ON_THE_CPU = "runs on the CPU"
