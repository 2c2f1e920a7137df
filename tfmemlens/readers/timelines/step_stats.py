"""StepStats: what a traced step allocated and freed, node by node.

Each node execution lists, for every allocator it touched, records of (time, +bytes or -bytes), including
frees long after the node ended. `allocator_bytes_in_use` is the allocator's own total when the kernel
returned: it fixes the baseline that the step stands on.

Sizes and times are read at once, they make the curve; names, types and shapes of a row when somebody looks at
it. Rows and outputs know their node execution by its number, so that the messages of a big trace need not
stay in memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from tfmemlens.model.allocation import BEFORE, ELSEWHERE, OUTPUT, PERSISTENT, TEMPORARY, AllocationTable
from tfmemlens.model.lazy_column import ComputedColumn, LazyColumn
from tfmemlens.model.tensor import numpy_dtype_of_enum
from tfmemlens.model.timeline import BaselineSource, Executions, Timeline
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes.batches import batches
from tfmemlens.readers.timelines import baseline, graph_liveness
from tfmemlens.values import dataclass, field, fields

T = TypeVar("T")
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
        _record(device.device, device.node_stats, process_of(device.device), lanes)
    yield from sorted(
        (_timeline(lane) for lane in lanes.values() if lane.size_bytes),
        key=lambda timeline: -timeline.peak_bytes,
    )


def process_of(device: str) -> str:
    """The job and the task of `/job:worker/replica:0/task:1/device:GPU:0`."""
    return _DEVICE.sub("", device)


def _record(device: str, nodes: Sequence[Any], process: str, lanes: dict[tuple[str, str], _Lane]) -> None:
    ran = _Executed(device, nodes)
    for batch in batches(nodes):
        first = len(ran.names)
        ran.names.extend([node.node_name for node in batch])
        starts = [node.all_start_micros for node in batch]
        ran.start_micros.extend(starts)
        ran.end_micros.extend(
            [start + node.all_end_rel_micros for start, node in zip(starts, batch, strict=True)]
        )
        for index, node in enumerate(batch, first):
            memories = node.memory
            if memories:  # most nodes allocate nothing, and an iterator for each would cost more
                for memory in memories:
                    key = process, memory.allocator_name
                    lane = lanes.get(key)
                    if lane is None:
                        lane = lanes[key] = _Lane(memory.allocator_name)
                    if not lane.places or lane.places[-1].ran is not ran:
                        lane.begin(ran)
                    lane.record(index, node, memory)
            elif _may_stand(node.timeline_label):
                ran.sources.append(index)


@dataclass(frozen=True)
class _Executed:
    """The node executions of a device, and what is at hand of each."""

    device: str
    nodes: Sequence[Any]
    names: list[str] = field(default_factory=list)
    start_micros: array[int] = field(default_factory=lambda: array("q"))
    end_micros: array[int] = field(default_factory=lambda: array("q"))
    sources: array[int] = field(default_factory=lambda: array("q"))
    """Those that are worth a look in a long trace: they allocate nothing, and may show a standing buffer."""


class _Place(NamedTuple):
    """A device that uses an allocator, and which of the lane's executions and rows are its first."""

    ran: _Executed
    first_node: int
    first_row: int


class _Output(NamedTuple):
    """What a TensorDescription says of the buffer that a row holds."""

    requested_bytes: int
    shape: tuple[int, ...] | None
    dtype: str | None


class _Standing(NamedTuple):
    """A buffer that an execution (by its number) showed and did not make."""

    node: int
    allocator: str
    size_bytes: int
    output: _Output


@dataclass
class _Lane:
    """One allocator: a row for each allocation, with the number of the node execution that made it.
    Executions are numbered across devices; a negative number stands for what no execution of this step made.
    """

    allocator: str
    places: list[_Place] = field(default_factory=list)
    made_by: array[int] = field(default_factory=lambda: array("q"))
    size_bytes: list[int] = field(default_factory=list)
    start_micros: list[float | None] = field(default_factory=list)
    end_micros: list[float | None] = field(default_factory=list)
    samples: list[baseline.Sample] = field(default_factory=list)
    """The allocator's own bytes in use, and the time in which they were looked up."""
    outside: list[str | None] = field(default_factory=list)
    """The names of rows that no execution of this step made: they were born before, or somebody else made
    them.
    """
    _outputs: dict[int, _Output] = field(default_factory=dict)
    """The output that describes a row, for the rows of the nodes that were looked at."""
    _matched: set[int] = field(default_factory=set)

    def begin(self, ran: _Executed) -> None:
        """What follows is of another device."""
        self.places.append(_Place(ran, self.count, len(self.size_bytes)))

    @property
    def count(self) -> int:
        """How many executions the devices so far have."""
        return self.places[-1].first_node + len(self.places[-1].ran.nodes) if self.places else 0

    def record(self, index: int, node: Any, memory: Any) -> None:
        """Take the use of this allocator by an execution of the last device."""
        if in_use := memory.allocator_bytes_in_use:
            start = node.all_start_micros
            self.samples.append((start + node.op_end_rel_micros, start + node.all_end_rel_micros, in_use))
        records = [(record.alloc_bytes, record.alloc_micros) for record in memory.allocation_records]
        number = self.places[-1].first_node + index
        if len(records) == 2 and records[0][0] == -records[1][0] > 0:
            self._add(number, *records[0], records[1][1])
        elif len(records) == 1 and records[0][0] > 0:
            self._add(number, *records[0], None)
        elif records:
            self._pair(number, records)

    def _add(self, number: int, size: int, start: float, end: float | None) -> None:
        self.made_by.append(number)
        self.size_bytes.append(size)
        self.start_micros.append(start)
        self.end_micros.append(end)

    def _pair(self, number: int, records: list[tuple[int, int]]) -> None:
        """A row for each allocation; a free ends the oldest live row of its size."""
        alive: dict[int, deque[int]] = {}
        for size, time in records:
            if size > 0:
                alive.setdefault(size, deque()).append(len(self.size_bytes))
                self._add(number, size, time, None)
            elif size < 0 and (waiting := alive.get(-size)):
                self.end_micros[waiting.popleft()] = time

    def _place(self, number: int) -> _Place:
        """The device that an execution ran on."""
        if len(self.places) == 1:
            return self.places[0]
        return self.places[bisect_right(self.places, number, key=lambda place: place.first_node) - 1]

    def _node(self, number: int) -> Any:
        """An execution by its number."""
        place = self._place(number)
        return place.ran.nodes[number - place.first_node]

    def _op(self, row: int) -> str | None:
        number = self.made_by[row]
        return op_of(self._node(number).timeline_label) if number >= 0 else None

    def output_of(self, row: int) -> _Output | None:
        """The output that a row holds, None for a temporary and for what a node keeps to itself."""
        first = row
        while first and self.made_by[first - 1] == self.made_by[row]:
            first -= 1
        if first not in self._matched:
            self._matched.add(first)
            if self.made_by[first] >= 0:
                self._match(first)
        return self._outputs.get(row)

    def _match(self, first: int) -> None:
        """Give the rows of one execution, which starts at row `first`, their outputs by size."""
        number = self.made_by[first]
        last = first
        while last + 1 < len(self.made_by) and self.made_by[last + 1] == number:
            last += 1
        for output in self._node(number).output:
            description = output.tensor_description
            where = description.allocation_description
            if where.allocator_name != self.allocator or not (where.ptr or where.allocation_id):
                continue
            for row in range(last, first - 1, -1):
                if row not in self._outputs and self.size_bytes[row] == where.allocated_bytes:
                    self._outputs[row] = _described(description)
                    break

    def table(self) -> AllocationTable:
        """The allocations; only sizes and times are at hand, the rest is looked up."""
        rows = len(self.size_bytes)
        return AllocationTable(
            LazyColumn(self._names),
            self.size_bytes,
            ComputedColumn(rows, self._op),
            self._devices(rows),
            [self.allocator] * rows,
            ComputedColumn(
                rows, lambda row: output.requested_bytes if (output := self.output_of(row)) else None
            ),
            self.start_micros,
            self.end_micros,
            ComputedColumn(rows, lambda row: output.shape if (output := self.output_of(row)) else None),
            ComputedColumn(rows, lambda row: output.dtype if (output := self.output_of(row)) else None),
            [1] * rows,
            [0] * rows,
            ComputedColumn(rows, self._purpose),
            [None] * rows,
        )

    def _names(self) -> list[str | None]:
        """The node of each row."""
        names, outside = self.names, self.outside
        return [names[number] if number >= 0 else outside[-1 - number] for number in self.made_by]

    def _devices(self, rows: int) -> list[str | None]:
        """The device of each row."""
        devices: list[str | None] = []
        for place, after in zip(
            self.places, [*(place.first_row for place in self.places[1:]), rows], strict=True
        ):
            devices += [place.ran.device] * (after - place.first_row)
        return devices

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the node executions of all devices that use it."""
        return _joined([place.ran.names for place in self.places])

    def executions(self) -> Executions:
        """All node executions of the devices that use it."""
        return Executions(
            self.names,
            _joined([place.ran.start_micros for place in self.places]),
            _joined([place.ran.end_micros for place in self.places]),
            ComputedColumn(self.count, lambda number: self._node(number).timeline_label),
        )

    @property
    def device(self) -> str:
        """The devices' names."""
        return graph_liveness.devices_of(place.ran.device for place in self.places)

    def change(self, change: baseline.UseChange) -> None:
        """A row for a change of what stood before the step: for a buffer that the step freed, or one that
        somebody else allocated while it ran.
        """
        if change.size_bytes > 0:
            self.outside.append(None)
            self._add(-len(self.outside), change.size_bytes, change.before_micros, None)
        else:
            name, since = _replacement(self.places, change)
            first = min(start for start in self.start_micros if start is not None)
            self.outside.append(name)
            self._add(-len(self.outside), -change.size_bytes, first, since)

    def _purpose(self, row: int) -> str | None:
        number, end = self.made_by[row], self.end_micros[row]
        if number < 0:
            return BEFORE if end is not None else ELSEWHERE
        if self.output_of(row):
            return OUTPUT
        place = self._place(number)
        return (
            TEMPORARY if end is not None and end <= place.ran.end_micros[number - place.first_node] else None
        )

    @cached_property
    def standing(self) -> AllocationTable:
        """Buffers that outputs point to and that the step did not allocate, each by the first node that
        showed it.
        """
        own, described = set[int](), dict[int, _Standing]()
        row, rows = 0, len(self.made_by)
        for number, node in self._shown():
            sizes = []
            while row < rows and self.made_by[row] == number:
                sizes.append(self.size_bytes[row])
                row += 1
            outputs = () if _TAKEN.search(node.timeline_label) else node.output
            for description in [output.tensor_description for output in outputs] if outputs else ():
                where = description.allocation_description
                key = where.ptr or where.allocation_id  # ids of plain malloc count anew in every wrapper
                if sizes and where.allocated_bytes in sizes:
                    own.add(key)
                elif key not in described:
                    size = where.allocated_bytes or where.requested_bytes
                    described[key] = _Standing(number, where.allocator_name, size, _described(description))
        return self._standing_table(
            [
                each
                for key, each in described.items()
                if key and key not in own and each.allocator == self.allocator
            ]
        )

    def _shown(self) -> Iterator[tuple[int, Any]]:
        """The executions that are looked at for standing buffers, by their numbers."""
        for ran, first, _ in self.places:
            places = range(len(ran.nodes)) if self.count <= _MAX_NODES else ran.sources
            yield from ((first + index, ran.nodes[index]) for index in places)

    def _standing_table(self, described: list[_Standing]) -> AllocationTable:
        rows = len(described)
        return AllocationTable(
            LazyColumn(lambda: [self.names[each.node] for each in described]),
            [each.size_bytes for each in described],
            ComputedColumn(rows, lambda row: op_of(self._node(described[row].node).timeline_label)),
            [self.device] * rows,
            [self.allocator] * rows,
            [each.output.requested_bytes for each in described],
            [None] * rows,
            [None] * rows,
            [each.output.shape for each in described],
            [each.output.dtype for each in described],
            [1] * rows,
            [0] * rows,
            [PERSISTENT] * rows,
            [None] * rows,
        )


def _may_stand(label: str) -> bool:
    """Whether a node of a long trace that allocates nothing is worth a look: variables, constants and
    arguments show standing buffers.
    """
    return (
        not label
        or label.endswith("()")
        or " = Const(" in label
        or " = ReadVariableOp(" in label
        or " = _Arg(" in label
    )


def _described(description: Any) -> _Output:
    shape = None if description.shape.unknown_rank else tuple([dim.size for dim in description.shape.dim])
    return _Output(
        description.allocation_description.requested_bytes, shape, numpy_dtype_of_enum(description.dtype)
    )


def _joined(columns: Sequence[Sequence[T]]) -> Sequence[T]:
    return columns[0] if len(columns) == 1 else [*chain.from_iterable(columns)]


def op_of(label: str) -> str | None:
    """The op type in `[bfc 2.0MB 2.0MB] conv/Relu = _FusedConv2D(x, conv/w)`, the only place of a trace that
    has it.
    """
    at = label.find(" = ")
    end = label.find("(", at)
    return label[at + 3 : end] if 0 <= at < end else None


def _replacement(places: list[_Place], change: baseline.UseChange) -> tuple[str | None, float]:
    """The variable that got a new buffer when this one went, and since when it had both: `AssignVariableOp(w,
    new)`, `ResourceApplyAdam(w, w/m, …)`.

    Without just one such op no name, and the first moment that the samples leave open.
    """
    freed = -change.size_bytes
    since: dict[str, float] = {}
    for node in _running(places, change):
        if target := _UPDATED.search(node.timeline_label):
            for memory in node.memory:
                for record in memory.allocation_records:
                    if (
                        freed < 2 * record.alloc_bytes < 4 * freed
                        and record.alloc_micros <= change.after_micros
                    ):
                        since[target[1]] = max(record.alloc_micros, change.before_micros)
    return next(iter(since.items())) if len(since) == 1 else (None, change.before_micros)


def _running(places: list[_Place], change: baseline.UseChange) -> Iterator[Any]:
    """The node executions that may have made a change."""
    for ran, _, _ in places:
        for index, (start, end) in enumerate(zip(ran.start_micros, ran.end_micros, strict=True)):
            if start <= change.after_micros and end >= change.before_micros:
                yield ran.nodes[index]


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
    standing = AllocationTable(
        **{column.name: _column(lane, column.name) for column in fields(AllocationTable)}
    )
    return Timeline(lane.device, lane.allocator, lane.table(), standing, executions=lane.executions())


def _column(lane: _Lane, name: str) -> Sequence[Any]:
    return LazyColumn(lambda: getattr(lane.standing, name))
