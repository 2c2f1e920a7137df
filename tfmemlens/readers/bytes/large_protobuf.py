"""Big messages, read from the file in pieces: the outer fields are walked by their lengths, and protobuf
parses the inner messages, many neighbours at a time.

What comes out looks like the message (RunMetadata, XSpace) to those who read it, but a node execution, a
node of a graph or an event is parsed when it is looked at and forgotten again, so memory holds two numbers
for each and not the file. So files that protobuf refuses (2 GiB and more) are read as well, and those of a
hundred megabytes in a fraction of the memory.
"""

from __future__ import annotations

import os
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, BinaryIO

from tfmemlens import progress
from tfmemlens.readers.bytes import wire
from tfmemlens.readers.bytes.wire import varint
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.values import dataclass, field

WHOLE = 1 << 30
"""Up to this size protobuf takes an XSpace in one go: it holds about as much again in memory."""
WHOLE_STEP = 16 << 20
"""The same of a RunMetadata, which is walked faster than it is parsed in one go."""
WINDOW = 1 << 20
_LARGEST = (1 << 31) - 1
_TOGETHER = 512
"""Entries of a repeated field that are parsed at once."""
_NEAR = 16
"""How far behind the last entry another must be asked for to be taken for a walk through all."""


class Pieces:
    """A file from which any range is read; neighbours come from one window. It stays open for those who look
    later.
    """

    def __init__(self, opened: Opened) -> None:
        self._file: BinaryIO = os.fdopen(os.dup(opened.file.fileno()), "rb", buffering=0)
        weakref.finalize(self, self._file.close)
        self._start, self._window = 0, b""
        self._last: tuple[int, str, Any] = (-1, "", None)
        self.size, self._name = opened.size, opened.name
        self.cut = False
        """Whether something did not close before the file ended."""

    def read(self, start: int, length: int) -> bytes:
        """The bytes of a range; fewer at the end of the file."""
        at = start - self._start
        if at < 0 or at + length > len(self._window):
            progress.at(self._name, start, self.size)
            self._file.seek(start)
            self._start, self._window, at = start, self._file.read(max(length, WINDOW)), 0
        return self._window[at : at + length]

    def look_up(self, start: int, length: int) -> bytes:
        """The same of a range that has nothing to do with what was read before: no more is read than it."""
        if 0 <= start - self._start <= len(self._window) - length:
            return self.read(start, length)
        self._file.seek(start)
        return self._file.read(length)

    def fields(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The fields of a message: number, where its value begins and ends. A value that the file does not
        hold whole ends where the file ends.
        """
        for each in wire.fields(self.read, start, end):
            if not each.whole:
                self.cut = True
                if each.kind != wire.LENGTH or each.start > end:
                    return
            yield each.number, each.start, min(each.end, end)

    def message(self, name: str, raw: bytes) -> Any:
        """The message in these bytes, an empty one if they are damaged."""
        from google.protobuf.message import DecodeError

        from tfmemlens.schema import message, parse

        try:
            return parse(name, raw)
        except DecodeError:
            self.cut = True
            return message(name)()

    def parse(self, name: str, start: int, end: int) -> Any:
        """The message in a range, an empty one if it is damaged; the last is remembered, since a message is
        asked for its fields one by one.
        """
        if self._last[:2] != (start, name):
            raw = self.read(start, end - start) if end - start <= _LARGEST else b""
            self._last = (start, name, self.message(name, raw))
        return self._last[2]


class Entries(Sequence[Any]):
    """The entries of a repeated field that makes up most of a message: where each begins, with its tag, and
    ends. `others` are the message's other fields: number and the same.
    """

    def __init__(self, pieces: Pieces, kind: str, name: str, number: int) -> None:
        self._pieces, self._kind, self._name = pieces, kind, name
        self._tag = number << 3 | wire.LENGTH
        self._starts, self._ends = array("Q"), array("Q")
        self._messages: list[int] = []
        """The first entry of each message: two of the same device are one to those who read it."""
        self._first = 0
        self._held: Sequence[Any] = ()
        self.others: list[tuple[int, int, int]] = []

    def add(self, start: int, end: int) -> None:
        """The entries of one more message, which lies in this range."""
        self._messages.append(len(self._starts))
        at = start
        while at < end:
            window = self._pieces.read(at, min(WINDOW, end - at))
            taken = wire.entries(window, self._tag, at, self._starts, self._ends)
            at = at + taken if taken else self._one(at, end)

    def _one(self, at: int, end: int) -> int:
        """Take what is no entry, or one that is not in the window whole; returns where it ends."""
        number, _, last = next(self._pieces.fields(at, end), (0, at, end))
        if number << 3 | wire.LENGTH != self._tag:
            self.others.append((number, at, last))
        elif not (self._pieces.cut and last == self._pieces.size):
            self._starts.append(at)
            self._ends.append(last)
        return last

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Sequence[Any]]:
        """All entries, as many of them as are parsed at once."""
        for start, end in pairwise([*self._messages, len(self)]):
            while start < end:
                last = self._reach(start, end)
                yield self._parsed(start, last)
                start = last

    def __getitem__(self, index: Any) -> Any:
        after = index - self._first - len(self._held)
        if after >= 0 or index < self._first:
            message = bisect_right(self._messages, index)
            end = self._messages[message] if message < len(self._messages) else len(self)
            last = self._reach(index, end) if 0 <= after < _NEAR else index + 1
            self._first, self._held = index, self._parsed(index, last)
        return self._held[index - self._first]

    def _reach(self, first: int, end: int) -> int:
        """How far to parse at once: so many entries, and no more bytes than a window, of the same message."""
        return min(
            first + _TOGETHER, end, max(bisect_right(self._ends, self._starts[first] + WINDOW), first + 1)
        )

    def _parsed(self, first: int, last: int) -> Sequence[Any]:
        """Neighbours of one message, which are such a message themselves; what is damaged among them is an
        empty entry.
        """
        from google.protobuf.message import DecodeError

        from tfmemlens.schema import message, parse

        start, end = self._starts[first], self._ends[last - 1]
        read = self._pieces.look_up if last - first == 1 else self._pieces.read
        try:
            entries: Sequence[Any] = getattr(parse(self._kind, read(start, end - start)), self._name)
            if len(entries) == last - first:
                return entries
        except DecodeError:
            pass
        if last - first > 1:
            return [entry for index in range(first, last) for entry in self._parsed(index, index + 1)]
        self._pieces.cut = True
        return [getattr(message(self._kind)(), self._name).add()]


@dataclass
class _Device:
    """DeviceStepStats: messages of one device that follow each other are one. A lane is walked when somebody
    asks for its nodes.
    """

    pieces: Pieces
    device: str
    ranges: list[tuple[int, int]] = field(default_factory=list)

    @cached_property
    def node_stats(self) -> Entries:
        """Its node executions."""
        nodes = Entries(self.pieces, "DeviceStepStats", "node_stats", 2)
        for start, end in self.ranges:
            nodes.add(start, end)
        return nodes


@dataclass
class _StepStats:
    dev_stats: Sequence[_Device]


class _Graph:
    """GraphDef: its nodes one by one, the rest of it at once."""

    def __init__(self, pieces: Pieces, start: int, end: int) -> None:
        self.node = Entries(pieces, "GraphDef", "node", 1)
        self.node.add(start, end)
        self._rest = pieces.message(
            "GraphDef", b"".join(pieces.look_up(first, last - first) for _, first, last in self.node.others)
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rest, name)


@dataclass
class _FunctionGraphs:
    """RunMetadata.FunctionGraphs."""

    partition_graphs: list[_Graph]


@dataclass
class RunMetadata:
    """As much of the message as `run_metadata.capture_of` looks at."""

    step_stats: _StepStats
    partition_graphs: list[_Graph]
    function_graphs: list[_FunctionGraphs]


def run_metadata(pieces: Pieces, bare: bool) -> RunMetadata:
    """A RunMetadata, or a bare StepStats, node by node."""
    metadata = RunMetadata(_StepStats(()), [], [])
    devices: dict[str, _Device] = {}
    for number, start, end in [(1, 0, pieces.size)] if bare else pieces.fields(0, pieces.size):
        if number == 1:
            for inner, first, last in pieces.fields(start, end):
                if inner == 1:
                    _device(pieces, first, last, devices)
        elif number == 3:
            metadata.partition_graphs.append(_Graph(pieces, start, end))
        elif number == 4:
            graphs = [
                _Graph(pieces, first, last) for inner, first, last in pieces.fields(start, end) if inner == 1
            ]
            metadata.function_graphs.append(_FunctionGraphs(graphs))
    metadata.step_stats.dev_stats = list(devices.values())
    return metadata


def _device(pieces: Pieces, start: int, end: int, devices: dict[str, _Device]) -> None:
    for number, first, last in pieces.fields(start, end):
        if number == 1:
            name = pieces.read(first, last - first).decode("utf-8", "replace")
            devices.setdefault(name, _Device(pieces, name)).ranges.append((last, end))
            return


@dataclass
class Plane:
    """XPlane: its tables of names are small, its lines are read event by event."""

    pieces: Pieces
    start: int
    end: int
    name: str = ""
    _lines: list[tuple[int, int]] = field(default_factory=list)
    _tables: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for number, first, last in self.pieces.fields(self.start, self.end):
            if number == 2:
                self.name = self.pieces.read(first, last - first).decode("utf-8", "replace")
            elif number == 3:
                self._lines.append((first, last))
            elif number in (4, 5):
                self._tables.append((number, first, last))

    @cached_property
    def event_metadata(self) -> dict[int, Any]:
        """XEventMetadata by id."""
        return self._table(4, "XEventMetadata")

    @cached_property
    def stat_metadata(self) -> dict[int, Any]:
        """XStatMetadata by id."""
        return self._table(5, "XStatMetadata")

    def _table(self, wanted: int, kind: str) -> dict[int, Any]:
        entries = {}
        for number, start, end in self._tables:
            if number == wanted:
                entry = {inner: (first, last) for inner, first, last in self.pieces.fields(start, end)}
                key = varint(self.pieces.read(*_range(entry[1])), 0)[0] if 1 in entry else 0
                if 2 in entry:
                    entries[key] = self.pieces.parse(kind, *entry[2])
        return entries

    @property
    def lines(self) -> Iterator[PlaneLine]:
        """Its lines, one after the other."""
        return (PlaneLine(self.pieces, start, end) for start, end in self._lines)


def _range(ends: tuple[int, int]) -> tuple[int, int]:
    return ends[0], ends[1] - ends[0]


@dataclass
class PlaneLine:
    """XLine."""

    pieces: Pieces
    start: int
    end: int

    @cached_property
    def timestamp_ns(self) -> int:
        """When the line begins."""
        for number, first, last in self.pieces.fields(self.start, self.end):
            if number == 3:
                return varint(self.pieces.read(first, last - first), 0)[0]
        return 0

    @cached_property
    def name(self) -> str:
        """Of the thread."""
        for number, first, last in self.pieces.fields(self.start, self.end):
            if number == 2:
                return self.pieces.read(first, last - first).decode("utf-8", "replace")
        return ""

    @property
    def events(self) -> Iterator[Any]:
        """Its events, parsed one by one."""
        return (
            self.pieces.parse("XEvent", first, last)
            for number, first, last in self.pieces.fields(self.start, self.end)
            if number == 4
        )


def planes(pieces: Pieces) -> Iterator[Plane]:
    """The planes of an XSpace."""
    return (Plane(pieces, start, end) for number, start, end in pieces.fields(0, pieces.size) if number == 1)
