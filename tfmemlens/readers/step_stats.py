"""StepStats: what a traced step allocated and freed, node by node.

Each node execution lists, for every allocator it touched, records of (time, +bytes or -bytes), including frees long after the node ended.
`allocator_bytes_in_use` is the allocator's own total when the kernel returned: it fixes the baseline that the step stands on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from tfmemlens.model.allocation import OUTPUT, PERSISTENT, TEMPORARY, AllocationTable
from tfmemlens.model.tensor import numpy_dtype_of_enum
from tfmemlens.model.timeline import BaselineSource, Executions, Timeline

_KEPT = re.compile(r"(?:/job:[^/]+)?(?:/replica:\d+)?(?:/task:\d+)?/(?:device:)?(?:[A-Z]+|cpu|gpu|tpu):\d+\Z")
_TWINS = re.compile(r"\A/(?:host|device):[A-Z]+(?::\d+)?(?:/.*)?\Z")


@dataclass
class Columns:
    """An AllocationTable in the making."""

    node: list[str | None] = field(default_factory=list)
    size_bytes: list[int] = field(default_factory=list)
    op: list[str | None] = field(default_factory=list)
    requested_bytes: list[int | None] = field(default_factory=list)
    start_micros: list[float | None] = field(default_factory=list)
    end_micros: list[float | None] = field(default_factory=list)
    shape: list[Any] = field(default_factory=list)
    dtype: list[str | None] = field(default_factory=list)
    purpose: list[str | None] = field(default_factory=list)

    def add(self, node: str | None, size: int, op: str | None, start: float | None, purpose: str | None) -> int:
        """A new row; its index."""
        self.node.append(node)
        self.size_bytes.append(size)
        self.op.append(op)
        self.requested_bytes.append(None)
        self.start_micros.append(start)
        self.end_micros.append(None)
        self.shape.append(None)
        self.dtype.append(None)
        self.purpose.append(purpose)
        return len(self.node) - 1

    def table(self, device: str, allocator: str) -> AllocationTable:
        """The table, every row on this device and allocator."""
        rows = len(self.node)
        return AllocationTable(
            self.node, self.size_bytes, self.op, [device] * rows, [allocator] * rows, self.requested_bytes, self.start_micros, self.end_micros,
            self.shape, self.dtype, [1] * rows, [0] * rows, self.purpose, [None] * rows,
        )  # fmt: skip


@dataclass
class _Buffer:
    """A buffer that an output points to."""

    node: str
    op: str | None
    size: int
    requested: int
    shape: Any
    dtype: str | None


@dataclass
class _Lane:
    """One allocator of one device while its records are gathered."""

    columns: Columns = field(default_factory=Columns)
    samples: list[tuple[int, int]] = field(default_factory=list)
    """(time, the allocator's bytes in use then)."""
    own: set[int] = field(default_factory=set)
    """Ids of the buffers that the step itself allocated."""
    buffers: dict[int, _Buffer] = field(default_factory=dict)
    """Every buffer that an output points to, by its first (best) node."""
    strays: int = 0


def keeps_memory(device: str) -> bool:
    """Whether a lane of the trace is a device's own: hardware lanes (`stream:all`, `memcpy`, `/host:CPU`) repeat its nodes without memory."""
    return bool(_KEPT.match(device)) and not _TWINS.match(device)


def timelines(step_stats: Any) -> Iterator[Timeline]:
    """A timeline for each allocator of each device that has records, the busiest first."""
    found: list[Timeline] = []
    for device in step_stats.dev_stats:
        if keeps_memory(device.device) or not any(keeps_memory(other.device) for other in step_stats.dev_stats):
            found += _of_device(device.device, device.node_stats)
    yield from sorted(found, key=lambda timeline: -timeline.peak_bytes)


def _of_device(device: str, nodes: Iterable[Any]) -> Iterator[Timeline]:
    lanes: dict[str, _Lane] = defaultdict(_Lane)
    ran: tuple[list[str], list[float], list[float]] = ([], [], [])
    for node in nodes:
        start = node.all_start_micros
        name = node.node_name
        ran[0].append(name)
        ran[1].append(start)
        ran[2].append(start + node.all_end_rel_micros)
        if node.memory:
            op = op_of(node.timeline_label)
            for memory in node.memory:
                _records(lanes[memory.allocator_name], name, op, memory, start + node.all_end_rel_micros)
        if node.output:
            _outputs(lanes, name, node)
    for allocator, lane in lanes.items():
        if lane.columns.node:
            yield _timeline(device, allocator, lane, Executions(*ran))


def _records(lane: _Lane, node: str, op: str | None, memory: Any, ended: int) -> None:
    """A row for each allocation; a free ends the oldest live row of its size."""
    columns = lane.columns
    alive: dict[int, deque[int]] = {}
    for record in memory.allocation_records:
        size, time = record.alloc_bytes, record.alloc_micros
        if size > 0:
            alive.setdefault(size, deque()).append(columns.add(node, size, op, time, None))
        elif size < 0:
            waiting = alive.get(-size)
            if not waiting:
                lane.strays += 1
                continue
            row = waiting.popleft()
            columns.end_micros[row] = time
            if time <= ended:
                columns.purpose[row] = TEMPORARY
    if memory.allocator_bytes_in_use > 0:
        lane.samples.append((ended, memory.allocator_bytes_in_use))


def _outputs(lanes: dict[str, _Lane], name: str, node: Any) -> None:
    """Shapes for this node's own allocations; buffers that it only points to belong to others."""
    for output in node.output:
        description = output.tensor_description
        where = description.allocation_description
        key = where.ptr or where.allocation_id  # ids of plain malloc count anew in every wrapper
        if not key:
            continue
        lane = lanes[where.allocator_name]
        shape = None if description.shape.unknown_rank else tuple(dim.size for dim in description.shape.dim)
        dtype = numpy_dtype_of_enum(description.dtype)
        columns = lane.columns
        for row in range(len(columns.node) - 1, max(len(columns.node) - 1 - 16, -1), -1):
            if columns.node[row] != name:
                break
            if columns.size_bytes[row] == where.allocated_bytes and columns.shape[row] is None:
                columns.shape[row], columns.dtype[row], columns.requested_bytes[row] = shape, dtype, where.requested_bytes
                columns.purpose[row] = OUTPUT
                lane.own.add(key)
                break
        if key not in lane.own and key not in lane.buffers:
            lane.buffers[key] = _Buffer(name, op_of(node.timeline_label), where.allocated_bytes or where.requested_bytes, where.requested_bytes, shape, dtype)


def op_of(label: str) -> str | None:
    """The op type in `[bfc 2.0MB 2.0MB] conv/Relu = _FusedConv2D(x, conv/w)`, the only place of a trace that has it."""
    at = label.find(" = ")
    end = label.find("(", at)
    return label[at + 3 : end] if at >= 0 and end > at else None


def _timeline(device: str, allocator: str, lane: _Lane, executions: Executions) -> Timeline:
    table = lane.columns.table(device, allocator)
    standing = Columns()
    for key, buffer in lane.buffers.items():
        if key not in lane.own:
            row = standing.add(buffer.node, buffer.size, buffer.op, None, PERSISTENT)
            standing.shape[row], standing.dtype[row], standing.requested_bytes[row] = buffer.shape, buffer.dtype, buffer.requested
    stands = standing.table(device, allocator)
    baseline, share = _baseline(table, lane.samples)
    if baseline is None:
        return Timeline(device, allocator, table, stands, stands.total_bytes, None, BaselineSource.STANDING, executions=executions)
    return Timeline(device, allocator, table, stands, baseline, share, BaselineSource.ALLOCATOR, executions=executions)


def _baseline(table: AllocationTable, samples: list[tuple[int, int]]) -> tuple[int | None, float | None]:
    """The most frequent difference between the allocator's figure and the step's own sum, and its share of the samples."""
    if not samples:
        return None, None
    changes = [(time, size) for time, size in zip(table.start_micros, table.size_bytes, strict=True) if time is not None]
    changes += [(time, -size) for time, size in zip(table.end_micros, table.size_bytes, strict=True) if time is not None]
    changes.sort()
    times = [time for time, _ in changes]
    sums = list(accumulate((size for _, size in changes), initial=0))
    votes = Counter(in_use - sums[bisect_right(times, time)] for time, in_use in samples)
    baseline, count = votes.most_common(1)[0]
    return baseline, count / len(samples)
