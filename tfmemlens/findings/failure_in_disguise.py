"""The message does not say OOM, but it is one.

What it means: a copy to a full GPU ends in `Dst tensor is not initialized`, a kernel launch in `Internal: out of memory`, the driver in
CUDA_ERROR_OUT_OF_MEMORY, the async allocator in `cuMemAllocAsync failed`. None of these carries the list of tensors.
When it fires: the failure is one of these.
What to do: treat it as an OOM. Look at what else runs on the device, then at the batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import _code, _levers
from tfmemlens.findings._rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.units import human_size

_MEANING = {
    RequestKind.COPY: "a tensor could not be copied to the device because the device was full",
    RequestKind.DRIVER: "the driver had no memory left to give",
}


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        assert moment.request
        failed = moment.request.failed
        if failed.kind not in _MEANING:
            continue
        size = f" ({human_size(failed.size)} asked)" if failed.size else ""
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"an out-of-memory error in disguise: {_MEANING[failed.kind]}{size}",
            because=f"{_MEANING[failed.kind]}{size}, an out-of-memory error in disguise",
            bytes=failed.size.bytes if failed.size else None,
            weight=0.2,
            evidence=(Evidence("the message", failed.line),),
            remedies=(
                Remedy("first see whether another process holds the device", "nvidia-smi"),
                _levers.smaller_batch(moment),
                Remedy(
                    "let TensorFlow grow its pool instead of taking all at start, so that the driver and other libraries find memory", _code.growth(case.api)
                ),
            ),
            moment=index,
        )
