"""Failures that are out-of-memory errors without saying OOM: the driver, the host, copies, cuDNN, the async allocator."""

from __future__ import annotations

from dataclasses import dataclass

from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.rules import DEVICE, LineRule
from tfmemlens.readers.oom.sentence import EXCEPTION
from tfmemlens.units import Size

DRIVER = LineRule(
    r"failed to allocate (?P<size>[\d.]+[KMGT]?i?B?) \((?P<bytes>\d+) bytes\) from device: (?P<error>.+)",
    "failed to allocate 3.90G (4188778496 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "failed to allocate 2.00GiB (2147483648 bytes) from device: HIP_ERROR_OutOfMemory",
    needs="from device:",
)
PINNED = LineRule(
    r"could not allocate pinned host memory of size: (?P<bytes>\d+)",
    "could not allocate pinned host memory of size: 8589934592",
    needs="could not allocate pinned",
)
HOST = LineRule(
    r"failed to alloc(?:ate)? (?P<bytes>\d+) bytes (?:on host|unified memory)(?:: (?P<error>.+))?",
    "failed to alloc 8589934592 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "failed to alloc 2147483648 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY",
    needs="failed to alloc",
)
COPY = LineRule(
    rf"Failed copying input tensor from (?P<origin>{DEVICE}) to (?P<device>{DEVICE}) in order to run (?P<op>\w+)",
    "Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: Dst tensor is not initialized.",
    needs="Failed copying input tensor",
)
DST = LineRule(r"Dst tensor is not initialized", "InternalError: Dst tensor is not initialized.", needs="Dst tensor is not initialized")
LAUNCH = LineRule(
    r"(?:Non-OK-status: )?GpuLaunchKernel\(.*(?:out of memory)",
    "Non-OK-status: GpuLaunchKernel(Fill, 1, 1, 0) status: Internal: out of memory",
    needs="GpuLaunchKernel(",
)
NO_ALGORITHM = LineRule(
    r"No algorithm worked!?|Failed to get convolution algorithm|CUDNN_STATUS_ALLOC_FAILED|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_NOT_INITIALIZED",
    "NotFoundError: No algorithm worked!",
    "could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
    "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED",
)
CUDA_ERROR = LineRule(
    r"CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|HIP_ERROR_OutOfMemory|hipErrorOutOfMemory|CUDA error: out of memory|CUDA runtime implicit initialization .*out of memory",
    "failed call to cuInit: CUDA_ERROR_OUT_OF_MEMORY",
)
FAILED_MEMORY = LineRule(
    r"failed to allocate memory(?: +\[Op:(?P<op>\w+)\])?", "InternalError: failed to allocate memory [Op:AddV2]", needs="failed to allocate memory"
)
BAD_ALLOC = LineRule(
    r"std::bad_alloc|MemoryError\b|Cannot allocate memory|Allocation of (?P<bytes>\d+) exceeds (?P<percent>\d+)% of (?:free )?system memory",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "Allocation of 3221225472 exceeds 10% of free system memory.",
)
KILLED = LineRule(
    r"oom-kill|Out of memory: Kill(?:ed)? process|exit code 137|OOMKilled|Killed\s*\Z",
    "Out of memory: Kill process 8123 (python3) score 891",
    "exited with exit code 137",
)


@dataclass
class Disguise:
    """One line that stands for a failed allocation."""

    kind: RequestKind
    line: Line
    what: str
    size: Size | None = None
    device: str | None = None
    op: str | None = None
    in_python: bool = False
    soft: bool = False
    """Says only that memory is scarce: no failure by itself."""
    node: str | None = None


class DisguiseFamily:
    """Collects failures in disguise."""

    def __init__(self) -> None:
        self.finished: list[Disguise] = []

    def offer(self, line: Line) -> bool:
        """Take the line if it tells of memory that could not be had."""
        found = self._recognise(line)
        if found is None:
            return False
        found.in_python = bool(EXCEPTION.search(line.text))
        self.finished.append(found)
        return True

    def _recognise(self, line: Line) -> Disguise | None:
        text = line.text
        if found := DRIVER.search(text):
            return Disguise(RequestKind.DRIVER, line, "driver", Size.exactly(int(found["bytes"])))
        if found := PINNED.search(text) or HOST.search(text):
            return Disguise(RequestKind.HOST, line, "host", Size.exactly(int(found["bytes"])))
        if found := COPY.search(text):
            return Disguise(RequestKind.COPY, line, "copy", device=found["device"], op=found["op"])
        return self._words(text, line)

    def _words(self, text: str, line: Line) -> Disguise | None:
        if DST.search(text):
            return Disguise(RequestKind.COPY, line, "copy")
        if LAUNCH.search(text):
            return Disguise(RequestKind.DRIVER, line, "kernel launch")
        if NO_ALGORITHM.search(text):
            return Disguise(RequestKind.WORKSPACE, line, "library")
        if found := FAILED_MEMORY.search(text):
            return Disguise(RequestKind.COPY, line, "copy", op=found["op"])
        if found := BAD_ALLOC.search(text):
            size = Size.exactly(int(found["bytes"])) if found["bytes"] else None
            return Disguise(RequestKind.HOST, line, "host", size, soft=size is not None)
        if KILLED.search(text):
            return Disguise(RequestKind.HOST, line, "killed")
        if CUDA_ERROR.search(text):
            return Disguise(RequestKind.DRIVER, line, "driver")
        return None
