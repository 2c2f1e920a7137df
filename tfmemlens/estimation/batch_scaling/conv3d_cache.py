"""The patch buffers of Conv3D's gradients on the CPU, which follow the processor's L3 cache: what a traced
step tells of that cache, and what follows.

A gradient unrolls as many volumes as fill the cache, and none when that would be more than 25 times its
tensors: then Eigen computes without a buffer. So the buffer appears at once, and whole, at some batch. A
buffer in the trace tells the cache to within a volume or so; the want of one tells that it is larger than
something. What remains open is answered with the most that it can be.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from tfmemlens.estimation.batch_scaling.axes import shape_of
from tfmemlens.knowledge.convolution.col_buffer import of_convolution
from tfmemlens.knowledge.convolution.cpu_backward import FIRST_3D_BUFFER, most_volumes
from tfmemlens.model.allocation import TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.convolution import Convolution, ConvolutionKind
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.model.tensor import ITEM_BYTES
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import MIB, human, round_up
from tfmemlens.values import dataclass, replace

GRADIENTS = frozenset(("Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"))
_SC_LEVEL3_CACHE_SIZE = 194
"""glibc's number of what `getconf LEVEL3_CACHE_SIZE` prints; Python knows no name for it."""
MAX_CACHE_BYTES = 1152 * MIB
"""No processor states a larger L3 cache (EPYC 9684X; Eigen reads that of the whole package on AMD's)."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """A gradient of a Conv3D: its convolution at the measured batch, and for which of the two operands it
    is.
    """

    conv: Convolution
    of_input: bool


@dataclass(frozen=True, slots=True)
class Cache:
    """The L3 cache as Eigen reads it: between these bytes, both included."""

    low_bytes: int = 1
    high_bytes: int = MAX_CACHE_BYTES
    measured: tuple[int, int] = (1, MAX_CACHE_BYTES)
    """What the trace alone tells."""

    def volumes(self, conv: Convolution) -> tuple[int, int]:
        """The fewest and the most volumes that fill it."""
        unrolled = of_convolution(conv)
        return unrolled.images_filling(self.low_bytes), unrolled.images_filling(self.high_bytes)

    def is_sure(self, gradient: Gradient) -> bool:
        """Whether it is known how many volumes fill it."""
        fewest, most = self.volumes(gradient.conv)
        return fewest == most

    def says(self, gradients: Iterable[Gradient]) -> str | None:
        """What the reader must know of it, where the trace does not tell how many volumes fill it."""
        low, high = self.measured
        if all(Cache(low, high).is_sure(each) for each in gradients):
            return None
        if self.low_bytes == self.high_bytes:
            return (
                "Conv3D's gradients unroll as many volumes as fill the L3 cache, taken to be this machine's,"
                f" {human(self.low_bytes)}"
            )
        return (
            "Conv3D's gradients unroll as many volumes as fill the L3 cache; the step tells only that it has"
            f" more than {human(low)}, so more may fit"
        )


def gradient_of(node: Node, graph: Graph) -> Gradient | None:
    """The convolution of a gradient's node, None where it is none of TensorFlow's own kernels or its shapes
    are not known.
    """
    data = [reference for reference in node.inputs if not reference.startswith("^")]
    if (
        node.op not in GRADIENTS
        or len(data) < 3
        or str(node.attributes.get("data_format") or "NDHWC") != "NDHWC"
    ):
        return None
    of_input = node.op == "Conv3DBackpropInputV2"
    shapes = [shape_of(graph.nodes.get(name), port) for name, port in map(split_reference, data)]
    image, kernel = (shape_of(node, 0), shapes[1]) if of_input else (shapes[0], shape_of(node, 0))
    dtype = str(node.attributes.get("T") or "float32")
    if (
        image is None
        or kernel is None
        or len(image) != 5
        or len(kernel) != 5
        or not all((*image, *kernel))
        or dtype not in ITEM_BYTES
    ):
        return None
    padding = str(node.attributes.get("padding") or "SAME").lower()
    strides, dilations = _inner(node.attributes.get("strides")), _inner(node.attributes.get("dilations"))
    if padding not in ("same", "valid"):
        return None
    return Gradient(
        Convolution(ConvolutionKind.CONV3D, image, kernel[:3], kernel[4], strides, dilations, padding, dtype),
        of_input,
    )


def _inner(given: object) -> tuple[int, ...]:
    return (
        tuple(int(each) for each in given[1:4]) if isinstance(given, tuple) and len(given) == 5 else (1, 1, 1)
    )


def this_machines_cache_bytes() -> int | None:
    """The L3 cache of the processor that this runs on, as the C library states it; None where it does not."""
    try:
        return os.sysconf(_SC_LEVEL3_CACHE_SIZE) or None
    except (AttributeError, OSError, ValueError):
        return None


def cache_of(timeline: Timeline, graph: Graph, likely_bytes: int | None = None) -> Cache | None:
    """What the step's buffers, and the want of them, tell of the cache; None where no such kernel ran or its
    buffers are others than these.

    `likely_bytes`, where the trace allows it, settles what the trace leaves open.
    """
    gradients = _gradients(timeline, graph)
    if not gradients or _too_old(graph) or timeline.predicted or ("GPU" in timeline.device.upper()):
        return None
    buffers: dict[str, int] = {}
    for row in timeline.table:
        if row.purpose == TEMPORARY and row.node in gradients:
            buffers[row.node] = max(buffers.get(row.node, 0), row.requested_bytes or row.size_bytes)
    low, high = 1, MAX_CACHE_BYTES
    for name, gradient in gradients.items():
        if gradient.of_input and gradient.conv.batch == 1:
            continue
        least, most = told(gradient.conv, buffers.get(name, 0))
        low, high = max(low, least), min(high, most)
    if likely_bytes is not None and low <= likely_bytes <= high:
        return Cache(likely_bytes, likely_bytes, measured=(low, high))
    return Cache(low, high, (low, high)) if low <= high else None


def _gradients(timeline: Timeline, graph: Graph) -> dict[str, Gradient]:
    gradients = [*graph.of_ops(GRADIENTS)]
    names = {node for node in timeline.table.node if node} if gradients else ()
    nodes = [node for node in gradients if node.name in names]
    return {node.name: gradient for node in nodes if (gradient := gradient_of(node, graph))}


def _too_old(graph: Graph) -> bool:
    digits = (graph.producer or "").split(".")[:2]
    return (
        len(digits) == 2
        and all(each.isdigit() for each in digits)
        and (int(digits[0]), int(digits[1])) < FIRST_3D_BUFFER
    )


def told(conv: Convolution, buffer_bytes: int) -> tuple[int, int]:
    """The least and the most bytes of a cache with which this gradient takes such a chunk, or none. A chunk
    may be almost twice as large as the request.
    """
    unit = of_convolution(conv).work_unit * conv.item_bytes
    if not buffer_bytes:
        return most_volumes(conv) * unit + conv.item_bytes, MAX_CACHE_BYTES
    each = of_convolution(conv).image_bytes
    fitting = [
        count
        for count in range(buffer_bytes // (2 * each), buffer_bytes // each + 1)
        if count and round_up(count * each) <= buffer_bytes
    ]
    fitting = [
        count
        for count in fitting
        if buffer_bytes < 2 * round_up(count * each) and count <= most_volumes(conv)
    ]
    return (
        ((min(fitting) - 1) * unit + conv.item_bytes, max(fitting) * unit + conv.item_bytes - 1)
        if fitting
        else (1, 0)
    )


def most_and_least(
    gradient: Gradient, cache: Cache, batch: int
) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """The most and the least bytes of the buffer at another batch."""

    def scaled(other: int) -> Convolution:
        images, *rest = gradient.conv.input
        return replace(gradient.conv, input=(max(-(-images * other // batch), 1), *rest))

    def volumes(conv: Convolution) -> tuple[int, int]:
        return (1, 1) if gradient.of_input and conv.batch == 1 else cache.volumes(conv)

    def most(other: int) -> int:
        conv = scaled(other)
        fewest, largest = volumes(conv)
        allowed = most_volumes(conv)
        return min(largest, allowed) * of_convolution(conv).image_bytes if fewest <= allowed else 0

    def least(other: int) -> int:
        conv = scaled(other)
        fewest, largest = volumes(conv)
        return fewest * of_convolution(conv).image_bytes if largest <= most_volumes(conv) else 0

    return most, least


def remark(timeline: Timeline, graph: Graph | None, cache: Cache | None) -> str | None:
    """What the reader of a fit must know of the cache; None where nothing hangs on it."""
    return cache.says(_gradients(timeline, graph).values()) if cache and graph else None


def with_places(timeline: Timeline, graph: Graph | None) -> Timeline:
    """The same step with an empty row where a gradient may have a buffer at another batch."""
    if graph is None or cache_of(timeline, graph) is None:
        return timeline
    gradients = _gradients(timeline, graph)
    rows = list(timeline.table)
    owned = {row.node for row in rows if row.purpose == TEMPORARY}
    ends = dict(zip(timeline.executions.node, timeline.executions.end_micros, strict=True))
    places = [
        _place(row, ends)
        for row in rows
        if row.node in gradients and row.node not in owned and row.start_micros is not None
    ]
    return replace(timeline, table=AllocationTable.of([*rows, *places])) if places else timeline


def _place(row: Allocation, ends: dict[str, float]) -> Allocation:
    start = row.start_micros or 0.0
    return replace(
        row,
        size_bytes=0,
        requested_bytes=0,
        shape=None,
        purpose=TEMPORARY,
        end_micros=max(start, ends.get(row.node or "", start)),
    )
