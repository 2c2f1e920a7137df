"""The kernels that XLA tried while it compiled a program, and for whose arrays it found no room: the log
quotes the kernel with the shapes of its operands and of its result.
"""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.model.line import Line
from tfmemlens.model.tensor import numpy_dtype, tensor_bytes
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import LineRule
from tfmemlens.units import MIB, Size

HEAD = LineRule(
    r"Could not get config for HLO: (?P<hlo>.+)",
    "E1127 22:07:13.762243 534 config_assigner.cc:536] Could not get config for HLO: %gemm_fusion_dot.59 ="
    " f32[8,16384,16384]{2,1,0} fusion(%bitcast.599.0), kind=kCustom, calls=",
    needs="Could not get config for HLO",
)
TRIED = LineRule(
    r"EXECUTION FAILED: (?:\w+: )?|Failed to get configs for: \d+ out of \d+ instructions"
    r"|\bStatus: RESOURCE_EXHAUSTED\b",
    "EXECUTION FAILED: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8.02GiB with allocator"
    " GPU_0_bfc on device 0. [tf-allocator-allocation-error='']",
    "jax.errors.JaxRuntimeError: NOT_FOUND: Failed to get configs for: 5 out of 36 instructions. See logs for"
    " all failures.",
    needs=("execution failed", "failed to get configs", "status: resource_exhausted"),
)
"""XLA's own report of a kernel that it tried."""
_ARRAY = regex(r"\b(?P<dtype>[a-z]{1,4}\d{0,2}(?:e\dm\d\w{0,4})?)\[(?P<sizes>\d{1,12}(?:,\d{1,12}){0,7})\]")
_NAMED = regex(r"op_name=\"(?P<name>[^\"]{1,400})\"")
_END = regex(r"\bStatus: ")
_MOST_LINES = 400
_GUARD_BYTES = 48 * MIB
"""XLA puts guards of 8 MiB before and behind each array of a kernel that it tries."""


class TunedArray(NamedTuple):
    """An array of a kernel that XLA tried."""

    shape: tuple[int, ...]
    dtype: str
    name: str | None
    """The op of the program that it belongs to, `jit(step)/jvp(Net)/head/dot_general`."""
    line: Line

    @property
    def bytes(self) -> int:
        """Shape x dtype."""
        return tensor_bytes(self.shape, self.dtype) or 0


class TunedKernels:
    """Collects the arrays of such kernels."""

    def __init__(self) -> None:
        self._finished: list[list[TunedArray]] = []
        self._open: list[TunedArray] | None = None
        self._lines = 0

    def take(self, line: Line) -> None:
        """Read the line, if it stands in the quoted kernel."""
        text = line.text
        if HEAD.search(text):
            self._close()
            self._open, self._lines = [], 0
        if self._open is None:
            return
        self._lines += 1
        named = _NAMED.search(text)
        name = named["name"] if named and "/" in named["name"] else None
        body = text[: named.start()] if named else text
        for match in _ARRAY.finditer(body):
            shape = tuple(int(size) for size in match["sizes"].split(","))
            self._open.append(TunedArray(shape, numpy_dtype(match["dtype"]), name, line))
        if _END.search(text) or self._lines > _MOST_LINES:
            self._close(name)

    def _close(self, name: str | None = None) -> None:
        if self._open:
            self._finished.append([each._replace(name=each.name or name) for each in self._open])
        self._open = None

    @property
    def squares(self) -> tuple[int, ...]:
        """Sizes that stand twice in a shape of these kernels."""
        self._close()
        shapes = {each.shape for kernel in self._finished for each in kernel}
        return tuple(sorted({size for shape in shapes for size in shape if shape.count(size) > 1 < size}))

    def array_of(self, size: Size | None) -> TunedArray | None:
        """The array that so many bytes were asked for, the guards around it included; never a small one, such
        as the empty scratch of a convolution's result, behind guards alone.
        """
        self._close()
        if size is None:
            return None
        fitting = [
            each
            for kernel in self._finished
            for each in kernel
            if max(size.low - _GUARD_BYTES, size.low // 2) <= each.bytes <= size.high
        ]
        return max(fitting, key=lambda each: (each.name is not None, each.bytes), default=None)


def is_tried(line: Line) -> bool:
    """Whether a line tells of a kernel that was tried, rather than of what the program asked for."""
    return TRIED.search(line.text) is not None
