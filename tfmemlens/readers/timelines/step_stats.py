"""StepStats: what a traced step allocated and freed, node by node.

Each node execution lists, for every allocator it touched, records of (time, +bytes or -bytes), including
frees long after the node ended. `allocator_bytes_in_use` is the allocator's own total when the kernel
returned: it fixes the baseline that the step stands on.

Sizes and times are read at once, they make the curve; names, types and shapes of a row when somebody looks at
it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from tfmemlens.model.allocation import BEFORE, ELSEWHERE, OUTPUT, PERSISTENT, TEMPORARY, AllocationTable
from tfmemlens.model.lazy_column import ComputedColumn, LazyColumn
from tfmemlens.model.tensor import numpy_dtype_of_enum
from tfmemlens.model.timeline import BaselineSource, Executions, Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.timelines import baseline, graph_liveness
from tfmemlens.values import dataclass, field, fields

_KEPT = regex(r"(?:/job:[^/]+)?(?:/replica:\d+)?(?:/task:\d+)?/(?:device:)?(?:[A-Z]+|cpu|gpu|tpu):\d+\Z")
_MAX_NODES = 20_000
"""Node executions beyond which only those are searched for standing buffers that can show one first."""
_DEVICE = regex(r"/(?:device:)?[A-Za-z]+:\d+\Z")
_UPDATED = regex(r" = (?:Assign|(?:Resource)?(?:Sparse)?Apply)\w*\(([^,)]+)")
_TAKEN = regex(r" = (?:TensorArray|TensorList|Stack)\w*\(")
"""Ops that hand out what the step itself has put away, under another's name."""
_TWINS = regex(r"\A/(?:host|device):[A-Z]+(?::\d+)?(?:/.*)?\Z")


def keeps_memory(device: str) -> bool:
    """Whether a lane of the trace is a device's own: hardware lanes (`stream:all`, `memcpy`, `/host:CPU`)
    repeat its nodes without memory.
    """
    return bool(_KEPT.match(device)) and not _TWINS.match(device)


def timelines(step_stats: Any) -> Iterator[Timeline]:
    """A timeline for each allocator that has records, the busiest first. The devices of one process share an
    allocator of one name: so do all its CPUs.
    """
    kept = [device for device in step_stats.dev_stats if keeps_memory(device.device)] or list(
        step_stats.dev_stats
    )
    lanes: dict[tuple[str, str], _Lane] = {}
    for device in kept:
        _record(device.device, list(device.node_stats), process_of(device.device), lanes)
    yield from sorted(
        (_timeline(lane) for lane in lanes.values() if lane.size_bytes),
        key=lambda timeline: -timeline.peak_bytes,
    )


def process_of(device: str) -> str:
    """The job and the task of `/job:worker/replica:0/task:1/device:GPU:0`."""
    return _DEVICE.sub("", device)


def _record(device: str, nodes: list[Any], process: str, lanes: dict[tuple[str, str], _Lane]) -> None:
    for node in nodes:
        memories = node.memory
        if memories:  # most nodes allocate nothing, and an iterator for each would cost more than the rest
            for memory in memories:
                key = process, memory.allocator_name
                lane = lanes.get(key)
                if lane is None:
                    lane = lanes[key] = _Lane(memory.allocator_name)
                if not lane.places or lane.places[-1].device != device:
                    lane.places.append(_Place(device, nodes, len(lane.size_bytes)))
                lane.record(node, memory)


@dataclass(frozen=True)
class _Place:
    """A device that uses an allocator: its node executions, and where its rows begin."""

    device: str
    nodes: list[Any]
    first_row: int


@dataclass
class _Lane:
    """One allocator: a row for each allocation, with the node execution that made it."""

    allocator: str
    places: list[_Place] = field(default_factory=list)
    made_by: list[Any] = field(default_factory=list)
    size_bytes: list[int] = field(default_factory=list)
    start_micros: list[float | None] = field(default_factory=list)
    end_micros: list[float | None] = field(default_factory=list)
    samples: list[baseline.Sample] = field(default_factory=list)
    """The allocator's own bytes in use, and the time in which they were looked up."""
    _outputs: dict[int, Any] = field(default_factory=dict)
    """The output that describes a row, for the rows of the nodes that were looked at."""
    _matched: set[int] = field(default_factory=set)

    def record(self, node: Any, memory: Any) -> None:
        """Take one execution's use of this allocator."""
        if in_use := memory.allocator_bytes_in_use:
            start = node.all_start_micros
            self.samples.append((start + node.op_end_rel_micros, start + node.all_end_rel_micros, in_use))
        records = [(record.alloc_bytes, record.alloc_micros) for record in memory.allocation_records]
        if len(records) == 2 and records[0][0] == -records[1][0] > 0:
            self._add(node, *records[0], records[1][1])
        elif len(records) == 1 and records[0][0] > 0:
            self._add(node, *records[0], None)
        elif records:
            self._pair(node, records)

    def _add(self, node: Any, size: int, start: float, end: float | None) -> None:
        self.made_by.append(node)
        self.size_bytes.append(size)
        self.start_micros.append(start)
        self.end_micros.append(end)

    def _pair(self, node: Any, records: list[tuple[int, int]]) -> None:
        """A row for each allocation; a free ends the oldest live row of its size."""
        alive: dict[int, deque[int]] = {}
        for size, time in records:
            if size > 0:
                alive.setdefault(size, deque()).append(len(self.size_bytes))
                self._add(node, size, time, None)
            elif size < 0 and (waiting := alive.get(-size)):
                self.end_micros[waiting.popleft()] = time

    def output_of(self, row: int) -> Any:
        """The output (TensorDescription) that a row holds, None for a temporary and for what a node keeps to
        itself.
        """
        first = row
        while first and self.made_by[first - 1] is self.made_by[row]:
            first -= 1
        if first not in self._matched:
            self._matched.add(first)
            self._match(first)
        return self._outputs.get(row)

    def _match(self, first: int) -> None:
        """Give the rows of one execution, which starts at row `first`, their outputs by size."""
        node = self.made_by[first]
        last = first
        while last + 1 < len(self.made_by) and self.made_by[last + 1] is node:
            last += 1
        for output in node.output:
            description = output.tensor_description
            where = description.allocation_description
            if where.allocator_name != self.allocator or not (where.ptr or where.allocation_id):
                continue
            for row in range(last, first - 1, -1):
                if row not in self._outputs and self.size_bytes[row] == where.allocated_bytes:
                    self._outputs[row] = description
                    break

    def table(self) -> AllocationTable:
        """The allocations; only sizes and times are at hand, the rest is looked up."""
        rows = len(self.size_bytes)
        return AllocationTable(
            LazyColumn(lambda: [node.node_name for node in self.made_by]),
            self.size_bytes,
            ComputedColumn(rows, lambda row: op_of(self.made_by[row].timeline_label)),
            self._devices(rows),
            [self.allocator] * rows,
            ComputedColumn(
                rows,
                lambda row: (
                    tensor.allocation_description.requested_bytes if (tensor := self.output_of(row)) else None
                ),
            ),
            self.start_micros,
            self.end_micros,
            ComputedColumn(rows, lambda row: _shape(self.output_of(row))),
            ComputedColumn(
                rows,
                lambda row: numpy_dtype_of_enum(tensor.dtype) if (tensor := self.output_of(row)) else None,
            ),
            [1] * rows,
            [0] * rows,
            ComputedColumn(rows, self._purpose),
            [None] * rows,
        )

    def _devices(self, rows: int) -> list[str | None]:
        """The device of each row."""
        devices: list[str | None] = []
        for place, after in zip(
            self.places, [*(place.first_row for place in self.places[1:]), rows], strict=True
        ):
            devices += [place.device] * (after - place.first_row)
        return devices

    @cached_property
    def nodes(self) -> list[Any]:
        """The node executions of all devices that use it."""
        return (
            self.places[0].nodes
            if len(self.places) == 1
            else [node for place in self.places for node in place.nodes]
        )

    @property
    def device(self) -> str:
        """The devices' names."""
        return graph_liveness.devices_of(place.device for place in self.places)

    def change(self, change: baseline.UseChange) -> None:
        """A row for a change of what stood before the step: for a buffer that the step freed, or one that
        somebody else allocated while it ran.
        """
        if change.size_bytes > 0:
            self._add(_Outside(None), change.size_bytes, change.before_micros, None)
        else:
            name, since = _replacement(self.nodes, change)
            self._add(
                _Outside(name),
                -change.size_bytes,
                min(start for start in self.start_micros if start is not None),
                since,
            )

    def _purpose(self, row: int) -> str | None:
        if isinstance(self.made_by[row], _Outside):
            return BEFORE if self.end_micros[row] is not None else ELSEWHERE
        if self.output_of(row):
            return OUTPUT
        end, node = self.end_micros[row], self.made_by[row]
        return (
            TEMPORARY if end is not None and end <= node.all_start_micros + node.all_end_rel_micros else None
        )

    @cached_property
    def standing(self) -> AllocationTable:
        """Buffers that outputs point to and that the step did not allocate, each by the first node that
        showed it.
        """
        own, described = set[int](), dict[int, tuple[Any, Any]]()
        row, rows = 0, len(self.made_by)
        many = len(self.nodes) > _MAX_NODES
        for node in filter(_may_stand, self.nodes) if many else self.nodes:
            sizes = []
            while row < rows and self.made_by[row] is node:
                sizes.append(self.size_bytes[row])
                row += 1
            outputs = () if _TAKEN.search(node.timeline_label) else node.output
            for description in [output.tensor_description for output in outputs] if outputs else ():
                where = description.allocation_description
                key = where.ptr or where.allocation_id  # ids of plain malloc count anew in every wrapper
                if sizes and where.allocated_bytes in sizes:
                    own.add(key)
                elif key not in described:
                    described[key] = node, description
        foreign = (pair for key, pair in described.items() if key and key not in own)
        return self._standing_table(
            [pair for pair in foreign if pair[1].allocation_description.allocator_name == self.allocator]
        )

    def _standing_table(self, described: list[tuple[Any, Any]]) -> AllocationTable:
        rows = len(described)
        where = [description.allocation_description for _, description in described]
        return AllocationTable(
            ComputedColumn(rows, lambda row: described[row][0].node_name),
            [each.allocated_bytes or each.requested_bytes for each in where],
            ComputedColumn(rows, lambda row: op_of(described[row][0].timeline_label)),
            [self.device] * rows,
            [self.allocator] * rows,
            ComputedColumn(rows, lambda row: where[row].requested_bytes),
            [None] * rows,
            [None] * rows,
            ComputedColumn(rows, lambda row: _shape(described[row][1])),
            ComputedColumn(rows, lambda row: numpy_dtype_of_enum(described[row][1].dtype)),
            [1] * rows,
            [0] * rows,
            [PERSISTENT] * rows,
            [None] * rows,
        )


def _may_stand(node: Any) -> bool:
    """Whether a node of a long trace is worth a look: variables, constants and arguments show standing
    buffers, and allocate nothing themselves.
    """
    label = node.timeline_label
    shown = (
        label.endswith("()") or " = Const(" in label or " = ReadVariableOp(" in label or " = _Arg(" in label
    )
    return (shown or not label) and not node.memory


def _shape(description: Any) -> tuple[int, ...] | None:
    if description is None or description.shape.unknown_rank:
        return None
    return tuple(dim.size for dim in description.shape.dim)


def op_of(label: str) -> str | None:
    """The op type in `[bfc 2.0MB 2.0MB] conv/Relu = _FusedConv2D(x, conv/w)`, the only place of a trace that
    has it.
    """
    at = label.find(" = ")
    end = label.find("(", at)
    return label[at + 3 : end] if at >= 0 and end > at else None


@dataclass(frozen=True)
class _Outside:
    """Stands for a node execution where a buffer is no node's of this step: it was born before, or somebody
    else made it.
    """

    node_name: str | None
    timeline_label: str = ""
    output: tuple[Any, ...] = ()


def _replacement(nodes: list[Any], change: baseline.UseChange) -> tuple[str | None, float]:
    """The variable that got a new buffer when this one went, and since when it had both: `AssignVariableOp(w,
    new)`, `ResourceApplyAdam(w, w/m, …)`.

    Without just one such op no name, and the first moment that the samples leave open.
    """
    freed = -change.size_bytes
    since: dict[str, float] = {}
    for node in nodes:
        start = node.all_start_micros
        if (
            start <= change.after_micros
            and start + node.all_end_rel_micros >= change.before_micros
            and (target := _UPDATED.search(node.timeline_label))
        ):
            for memory in node.memory:
                for record in memory.allocation_records:
                    if (
                        freed < 2 * record.alloc_bytes < 4 * freed
                        and record.alloc_micros <= change.after_micros
                    ):
                        since[target[1]] = max(record.alloc_micros, change.before_micros)
    return next(iter(since.items())) if len(since) == 1 else (None, change.before_micros)


def _timeline(lane: _Lane) -> Timeline:
    bare = _on_nothing(lane)
    known = baseline.of_samples(bare, lane.samples)
    if known is None:
        return bare.standing_on(lane.standing.total_bytes, None, BaselineSource.STANDING)
    if known.changes:
        for change in known.changes:
            lane.change(change)
        bare = _on_nothing(lane)
    return bare.standing_on(
        known.size_bytes + sum(min(change.size_bytes, 0) for change in known.changes),
        known.share,
        BaselineSource.ALLOCATOR,
    )


def _on_nothing(lane: _Lane) -> Timeline:
    """The timeline with its baseline at 0."""
    ran = Executions(
        LazyColumn(lambda: [node.node_name for node in lane.nodes]),
        LazyColumn(lambda: [node.all_start_micros for node in lane.nodes]),
        LazyColumn(lambda: [node.all_start_micros + node.all_end_rel_micros for node in lane.nodes]),
        ComputedColumn(len(lane.nodes), lambda index: lane.nodes[index].timeline_label),
    )
    standing = AllocationTable(
        **{column.name: _column(lane, column.name) for column in fields(AllocationTable)}
    )
    return Timeline(lane.device, lane.allocator, lane.table(), standing, executions=ran)


def _column(lane: _Lane, name: str) -> Sequence[Any]:
    return LazyColumn(lambda: getattr(lane.standing, name))
