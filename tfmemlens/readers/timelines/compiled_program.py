"""A compiled program's account of memory, whichever file states it: allocations, the values that lie in them,
and between which instructions these live.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.incident import CompilerMemory, FailedRequest, HolderBlock, Incident, RequestKind
from tfmemlens.model.line import Line
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers.oom.compiler import parse_hlo_shape
from tfmemlens.readers.timelines.program_order import Value, timeline
from tfmemlens.units import Size
from tfmemlens.values import dataclass, field, replace

_PURPOSE = {
    "preallocated-temp": "preallocated temp",
    "constant": "constant",
    "thread-local": "thread-local",
    "maybe-live-out": "maybe_live_out",
}


@dataclass
class Placed:
    """A value, and where it lies in its allocation."""

    name: str
    size: int
    offset: int
    shape: str
    index: str = ""
    """Which part of a tuple it is."""


@dataclass
class ProgramBlock:
    """One allocation of the program, as it is read."""

    line: Line
    size: Size
    flags: str
    values: list[Placed] = field(default_factory=list)

    @property
    def purpose(self) -> str:
        """In the words of XLA's own statistics; an argument that becomes a result counts as an argument."""
        if self.flags.startswith("parameter"):
            return "parameter"
        return next(
            (name for flag, name in _PURPOSE.items() if flag in self.flags),
            "maybe_live_out" if "output shape" in self.flags else "other",
        )


@dataclass
class ProgramDraft:
    """What is known of one program."""

    blocks: list[ProgramBlock] = field(default_factory=list)
    total: Size | None = None
    total_line: Line | None = None
    alive: dict[str, Line] = field(default_factory=dict)
    """Names of the values that live at the worst point of the schedule."""
    metadata: dict[str, str] = field(default_factory=dict)
    instructions: list[str] = field(default_factory=list)
    ranges: dict[tuple[str, str], tuple[int, int, Line]] = field(default_factory=dict)
    """For each value, by name and index, the first and the last instruction of its life."""


def incident(program: ProgramDraft, name: str | None) -> Incident:
    """The program as one account of memory, no failure."""
    schedule = _schedule(program, name)
    return Incident(
        FailedRequest(
            RequestKind.PROGRAM,
            size=program.total,
            line=program.total_line,
            executable=name,
        ),
        holders=(HolderBlock(None, None, _table(program, schedule)),),
        compiler=CompilerMemory(sections=tuple(_sections(program)), needed=program.total, schedule=schedule),
        fatal=False,
    )


def _sections(program: ProgramDraft) -> Iterator[tuple[str, Size, Line]]:
    for purpose in dict.fromkeys(block.purpose for block in program.blocks):
        mine = [block for block in program.blocks if block.purpose == purpose]
        total = Size.exactly(0)
        for block in mine:
            total += block.size
        yield purpose, total, max(mine, key=lambda block: block.size.bytes).line


def _table(program: ProgramDraft, schedule: Timeline | None) -> AllocationTable:
    """What the program holds at its worst point."""
    if schedule is None:
        return AllocationTable.of(list(_rows(program)))
    alive = [schedule.table[row] for row in schedule.alive_after(schedule.peak_index)]
    rows = [replace(row, start_micros=None, end_micros=None) for row in alive]
    return AllocationTable.of([*schedule.standing, *sorted(rows, key=lambda row: -row.size_bytes)])


def _schedule(program: ProgramDraft, name: str | None) -> Timeline | None:
    """The program's values in the order of its instructions, None where the file does not state it.

    What of the arena holds no value at the worst point stands beside them, so that the curve's highest point
    is what the program takes.
    """
    arenas = [block for block in program.blocks if block.purpose == "preallocated temp"]
    values, base = [], 0
    for block in arenas:
        for value in block.values:
            lived = program.ranges.get((value.name, value.index))
            if lived is not None and value.size > 0 and lived[0] <= lived[1]:
                row = _of_value(program, block, value, program.alive.get(value.name, lived[2]))
                values.append(Value(row, base + value.offset, lived[0], lived[1]))
        base += block.size.bytes
    if not values:
        return None
    beside = list(_rows(program, with_arena=False))
    instructions = [_named(program, instruction)[0] for instruction in program.instructions]
    gap = base - timeline(name, values, (), ()).peak_bytes
    if gap > 0:
        beside.append(
            Allocation(None, gap, op="gap in the arena", purpose="preallocated temp", line=arenas[0].line)
        )
    return timeline(name, values, beside, instructions)


def _rows(program: ProgramDraft, with_arena: bool = True) -> Iterator[Allocation]:
    """A row for each allocation; the arena of temporaries as what lives in it at the peak, and the rest of
    it.
    """
    for block in program.blocks:
        if block.purpose == "preallocated temp" and not with_arena:
            continue
        if block.purpose == "preallocated temp" and program.alive:
            yield from _arena(program, block)
            continue
        if block.purpose == "preallocated temp":
            yield Allocation(
                None,
                block.size.bytes,
                op="arena",
                error_bytes=block.size.error_bytes,
                purpose=block.purpose,
                line=block.line,
            )
            continue
        shape, dtype, _ = parse_hlo_shape((re.search(r"shape \|([^|]*)\|", block.flags) or ["", ""])[1])
        value = block.values[0] if block.values else None
        node, op = _named(program, value.name) if value else (None, None)
        if block.purpose == "parameter" and node and node.startswith("%"):
            node = None
        yield Allocation(
            node,
            block.size.bytes,
            op=op,
            shape=shape,
            dtype=dtype,
            error_bytes=block.size.error_bytes,
            purpose=block.purpose,
            line=block.line,
        )


def _arena(program: ProgramDraft, block: ProgramBlock) -> Iterator[Allocation]:
    """Values that share a place are one tensor under several names."""
    taken: list[tuple[int, int]] = []
    left = block.size.bytes
    for value in sorted(block.values, key=lambda value: -value.size):
        end = value.offset + value.size
        if value.name not in program.alive or any(
            start < end and value.offset < stop for start, stop in taken
        ):
            continue
        taken.append((value.offset, end))
        left -= value.size
        yield _of_value(program, block, value, program.alive[value.name])
    if left:
        yield Allocation(None, left, op="gap in the arena", purpose=block.purpose, line=block.line)


def _of_value(program: ProgramDraft, block: ProgramBlock, value: Placed, line: Line) -> Allocation:
    shape, dtype, _ = parse_hlo_shape(value.shape)
    node, op = _named(program, value.name)
    return Allocation(node, value.size, op=op, shape=shape, dtype=dtype, purpose=block.purpose, line=line)


def _named(program: ProgramDraft, value: str) -> tuple[str, str | None]:
    """The framework's name and op type of an instruction, else its own name with XLA's `%`."""
    metadata = program.metadata.get(value, "")
    name = re.search(r'op_name="([^"]*)"', metadata)
    op = re.search(r'op_type="([^"]*)"', metadata)
    known = name[1] if name and name[1] != "XLA_Args" else f"%{value}"
    return known, op[1] if op else re.sub(r"[.\d]+\Z", "", value)
