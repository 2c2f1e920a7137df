"""Messages of 2 GiB and more, which protobuf refuses: the outer fields are walked by their lengths, and
protobuf parses each inner message.

What comes out looks like the message (RunMetadata, XSpace) to those who read it, but a node execution or an
event is parsed when it is looked at and forgotten again, so memory holds two numbers for each and not the
file.
"""

from __future__ import annotations

import os
import weakref
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, BinaryIO

from tfmemlens import progress
from tfmemlens.readers.bytes import wire
from tfmemlens.readers.bytes.wire import varint
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.values import dataclass, field

WHOLE = 1 << 30
"""Up to this size protobuf takes a file in one go: it holds about as much again in memory."""
WINDOW = 8 << 20
_LARGEST = (1 << 31) - 1


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

    def parse(self, name: str, start: int, end: int) -> Any:
        """The message in a range, an empty one if it is damaged; the last is remembered, since a message is
        asked for its fields one by one.
        """
        from google.protobuf.message import DecodeError

        from tfmemlens.schema import message, parse

        if self._last[:2] != (start, name):
            try:
                parsed = (
                    parse(name, self.read(start, end - start)) if end - start <= _LARGEST else message(name)()
                )
            except DecodeError:
                self.cut = True
                parsed = message(name)()
            self._last = (start, name, parsed)
        return self._last[2]


class _Piece:
    """A node execution that is parsed when a field of it is asked for."""

    __slots__ = ("_end", "_pieces", "_start")

    def __init__(self, pieces: Pieces, start: int, end: int) -> None:
        self._pieces, self._start, self._end = pieces, start, end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pieces.parse("NodeExecStats", self._start, self._end), name)


class _Nodes(Sequence[_Piece]):
    """The node executions of a device: where each begins and ends."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces, self._starts, self._ends = pieces, array("Q"), array("Q")

    def add(self, start: int, end: int) -> None:
        """One more."""
        self._starts.append(start)
        self._ends.append(end)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: Any) -> Any:
        return _Piece(self._pieces, self._starts[index], self._ends[index])

    def __iter__(self) -> Iterator[_Piece]:
        return map(_Piece, repeat(self._pieces), self._starts, self._ends)


@dataclass
class _Device:
    """DeviceStepStats: messages of one device that follow each other are one."""

    device: str
    node_stats: _Nodes


@dataclass
class _StepStats:
    dev_stats: Sequence[_Device]


@dataclass
class RunMetadata:
    """As much of the message as `run_metadata.capture_of` looks at."""

    step_stats: _StepStats
    partition_graphs: list[Any]
    function_graphs: list[Any]


def run_metadata(pieces: Pieces, bare: bool = False) -> RunMetadata:
    """A RunMetadata, or a bare StepStats, node by node."""
    metadata = RunMetadata(_StepStats(()), [], [])
    devices: dict[str, _Device] = {}
    for number, start, end in [(1, 0, pieces.size)] if bare else pieces.fields(0, pieces.size):
        if number == 1:
            for inner, first, last in pieces.fields(start, end):
                if inner == 1:
                    _device(pieces, first, last, devices)
        elif number in (3, 4):
            kind, graphs = (
                ("GraphDef", metadata.partition_graphs)
                if number == 3
                else ("RunMetadata.FunctionGraphs", metadata.function_graphs)
            )
            graphs.append(pieces.parse(kind, start, end))
    metadata.step_stats.dev_stats = list(devices.values())
    return metadata


def _device(pieces: Pieces, start: int, end: int, devices: dict[str, _Device]) -> None:
    lane = None
    for number, first, last in pieces.fields(start, end):
        if number == 1:
            name = pieces.read(first, last - first).decode("utf-8", "replace")
            lane = devices.setdefault(name, _Device(name, _Nodes(pieces)))
        elif number == 2 and lane is not None and not (pieces.cut and last == pieces.size):
            lane.node_stats.add(first, last)


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
