"""cuDNN or cuBLAS could not get its own memory.

What it means: besides tensors, convolutions need a workspace and the libraries need handles (some hundred MiB) outside TensorFlow's pool.
`No algorithm worked` and `Failed to get convolution algorithm` nearly always mean that none of the algorithms got its workspace.
When it fires: the failure is such a message.
What to do: leave memory outside the pool (growth or a lower limit), a smaller batch, a lower workspace limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.costs.convolution.gpu import LIMIT_VARIABLE, default_limit_bytes
from tfmemlens.findings import _code, _levers
from tfmemlens.findings._rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import human, human_size


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request
        failed = moment.request.failed
        if failed.kind is not RequestKind.WORKSPACE:
            continue
        yield Finding(
            severity=Severity.CAUSE,
            headline="cuDNN or cuBLAS found no memory for a workspace or a handle: an OOM that does not say so",
            because="the library found no memory for a workspace or handle, which lies outside TensorFlow's pool",
            weight=0.6,
            evidence=(Evidence("the message", failed.line), *_tried(case)),
            detail=_limit(case),
            remedies=(
                Remedy("leave room outside TensorFlow's pool: the libraries allocate their handles there", _code.growth(case.api)),
                _levers.smaller_batch(moment),
                Remedy("cap the workspace that cuDNN may ask for", f"export {LIMIT_VARIABLE}=256"),
                Remedy(
                    "if it fails at the very first convolution of a small model, suspect a cuDNN version that does not match, or another process on the GPU",
                    "nvidia-smi",
                ),
            ),
            moment=index,
        )


def _tried(case: Case) -> Iterator[Evidence]:
    """What was asked for and done without before: as a rule workspaces of faster algorithms."""
    warnings = sorted(case.capture.surroundings.soft_warnings, key=lambda warning: -warning.size.bytes)
    if warnings:
        largest = warnings[0]
        yield Evidence(f"before it an allocation of {human_size(largest.size)} failed without harm: most likely a faster algorithm's workspace", largest.line)


def _limit(case: Case) -> str:
    limits = sorted({default_limit_bytes(case.api.oldest), default_limit_bytes(case.api.newest)})
    text = " or ".join(human(limit) for limit in limits)
    return (
        f"Autotune tries every algorithm when a shape is first seen, with workspaces of up to {text} each ({LIMIT_VARIABLE} sets another limit), "
        "and keeps the fastest that got its own. Where none gets one, the op fails like this."
    )
