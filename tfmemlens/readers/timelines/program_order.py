"""The arena of a compiled program over its instructions: which value lies in which place of it, and when.

XLA states between which instructions each value lives, both ends included. An instruction that writes its
result over what it reads last ends the other half an instruction earlier than it begins itself, so that no
place counts twice; every other value is freed half an instruction after its last use.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.timeline import BaselineSource, CurveSource, Executions, Timeline
from tfmemlens.values import dataclass, replace

_HALF = 0.5


@dataclass(slots=True)
class Value:
    """A value in the arena: where it lies, and from which instruction to which it lives."""

    row: Allocation
    offset: int
    start: int
    end: int
    until: float = 0.0
    """When its place is free again."""

    @property
    def stop(self) -> int:
        """The first byte behind it."""
        return self.offset + self.row.size_bytes


def timeline(
    name: str | None, values: Sequence[Value], beside: Sequence[Allocation], instructions: Sequence[str]
) -> Timeline:
    """The program's curve, on what it holds beside the arena as long as it runs."""
    placed = _placed(values)
    return Timeline(
        "",
        name or "compiled program",
        AllocationTable.of(
            [replace(each.row, start_micros=float(each.start), end_micros=each.until) for each in placed]
        ),
        AllocationTable.of(beside),
        sum(row.total_bytes for row in beside),
        1.0,
        BaselineSource.COMPILER,
        executions=Executions(
            instructions,
            [float(at) for at in range(len(instructions))],
            [at + _HALF for at in range(len(instructions))],
        ),
        curve_source=CurveSource.SCHEDULE,
        ordinal=True,
        addresses=[each.offset for each in placed],
    )


def _placed(values: Sequence[Value]) -> list[Value]:
    """The values that have a place of their own; of several names for one place the largest value's."""
    placed: list[Value] = []
    alive: list[Value] = []
    for value in sorted(values, key=lambda value: (value.start, -value.row.size_bytes)):
        value.until = value.end + _HALF
        alive = [other for other in alive if other.until > value.start]
        there = [other for other in alive if other.offset < value.stop and value.offset < other.stop]
        leaving = [other for other in there if other.end <= value.start and other.start < value.start]
        if len(leaving) < len(there):
            _extend(there, value)
            continue
        for other in leaving:
            other.until = value.start - _HALF
        alive.append(value)
        placed.append(value)
    return placed


def _extend(there: Sequence[Value], value: Value) -> None:
    """Another name for the place of one that stays: that one lives on as long as any of its names."""
    for other in there:
        if other.offset <= value.offset and value.stop <= other.stop:
            other.end = max(other.end, value.end)
            other.until = other.end + _HALF
