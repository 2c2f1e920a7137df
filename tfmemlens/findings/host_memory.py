"""It is the machine's own memory that ran out, not the GPU's.

What it means: the allocator `cpu` (or `mklcpu`) is RAM; `gpu_host_bfc` and `cuda_host_bfc` are pinned RAM for transfers. A GPU with more
memory changes nothing; the input pipeline, a data set in memory, ops placed on the CPU or the process limit (ulimit, cgroup) do.
When it fires: the failing device is a CPU, the allocator is a host allocator, or the message speaks of host or pinned memory.
What to do: see which ops run on the CPU and why; shrink shuffle buffers and prefetching; check the container's memory limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings._rows import failures, on_host
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind

_SLABS = (
    Remedy(
        "if a convolution with a large kernel runs on the CPU: before TensorFlow 1.14 its forward pass packs slabs that no report shows; size them",
        "tfmemlens conv --input NxHxWxC --kernel KHxKWxFILTERS --tf 1.10 --threads 8",
    ),
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        if not on_host(moment):
            continue
        assert moment.request
        failed = moment.request.failed
        pinned = "host_bfc" in (failed.allocator or "") or "pinned" in (failed.line.text if failed.line else "")
        what = "pinned host memory (RAM that the GPU can copy from)" if pinned else "host memory (RAM)"
        yield Finding(
            severity=Severity.CAUSE if failed.kind is RequestKind.HOST else Severity.NOTE,
            headline=f"this is {what}, not GPU memory: the allocator is `{failed.allocator or 'the host'}`",
            because=f"this is {what}, not GPU memory",
            weight=0.5,
            evidence=(Evidence("the message", failed.line),),
            remedies=(
                Remedy(
                    "if you expected a GPU: check that TensorFlow sees it",
                    "tf.test.is_gpu_available()" if case.api.is_tf1 else "tf.config.list_physical_devices('GPU')",
                ),
                Remedy("shrink what the input pipeline holds: shuffle(buffer_size), prefetch, cache(), worker processes"),
                Remedy("check the limit of the container or job (cgroup, ulimit -v, Slurm --mem)"),
                *(_SLABS if case.api.oldest < (1, 14) and failed.line and "bad_alloc" in failed.line.text else ()),
            ),
            moment=index,
        )
