"""What `--xla_dump_to` writes about memory: `…-buffer-assignment.txt` (exact) and `…-memory-usage-report.txt`
(rounded).

One file tells of one compiled program: its allocations (arguments, results, one arena for all temporaries)
and, in the first, which values are alive at the worst point of the schedule. Read in TensorFlow 2.8, 2.11,
2.16 and 2.21, on CPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.incident import CompilerMemory, FailedRequest, HolderBlock, Incident, RequestKind
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.patterns import regex
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering import inputs, opening
from tfmemlens.readers.oom.compiler import parse_hlo_shape
from tfmemlens.readers.oom.rules import SIZE
from tfmemlens.units import Size, parse_size
from tfmemlens.values import dataclass, field

HOLDS = Holds.FAILURES
SUFFIXES = (".txt",)
COMPANIONS = (".ll", ".o", ".mlir", ".debug_options", ".dot", ".svg")
_ALLOCATION = regex(
    rf"allocation (?P<index>\d+): (?:0x[0-9a-f]+, )?size (?P<size>\d+|{SIZE})(?:, (?P<flags>.*?))?:?\s*\Z"
)
_VALUE = regex(
    r"\s*value: <\d+ (?P<name>\S+?)(?:\{[^}]*\})? @\d+> \(size=(?P<size>\d+),offset=(?P<offset>\d+)\):"
    r" (?P<shape>.+?)\s*\Z"
)
_INSTRUCTION = regex(r"\s*from instruction: ?(?:ROOT )?%(?P<name>\S+) = ")
_PEAK = regex(r"\s*Live ranges at (?P<at>\d{1,19}) \(peak\):")
_ALIVE = regex(r"\s+(?P<name>[^\s{:]+)(?:\{[^}]*\})?: (?P<size>\d{1,19}) bytes")
_ROW = regex(r"\s*\S+ *\( *\d+%\); +\S+; (?P<allocation>allocation \d+: .*)")
_TOTAL = regex(rf"Total bytes used: (?P<bytes>\d{{1,19}}) \({SIZE}\)")
_MODULE = regex(
    r"(?:\d+\.)?module_\d+\.(?P<name>.+?)\.(?:\d+\.)?(?:sm_[\d.]+_)?(?:gpu|cpu|tpu)_after_optimizations"
)
_XLA_SUFFIX = regex(r"__Xla(?:MustCompile|CompiledKernel|HasReferenceVars|NumConstantArgs)_.*")
_PURPOSE = {
    "preallocated-temp": "preallocated temp",
    "constant": "constant",
    "thread-local": "thread-local",
    "maybe-live-out": "maybe_live_out",
}


@dataclass
class _Value:
    name: str
    size: int
    offset: int
    shape: str


@dataclass
class _Block:
    """One allocation of the program, as it is read."""

    line: Line
    size: Size
    flags: str
    values: list[_Value] = field(default_factory=list)

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
class _Program:
    blocks: list[_Block] = field(default_factory=list)
    total: Size | None = None
    total_line: Line | None = None
    alive: dict[str, Line] = field(default_factory=dict)
    """Names of the values that live at the worst point of the schedule."""
    metadata: dict[str, str] = field(default_factory=dict)


def sniff(sample: Sample) -> Confidence:
    """A text begins like one of these files."""
    start = sample.text.lstrip(b"\xef\xbb\xbf \r\n")
    known = start.startswith(b"BufferAssignment:") or (
        start.startswith(b"Total bytes used:") and b"Allocations sorted by size" in start
    )
    return Confidence.CERTAIN if known else Confidence.NO


def read(opened: inputs.Opened, hints: Hints = Hints()) -> Capture:
    """The program as one account of memory, no failure."""
    del hints
    program = _Program()
    _parse(program, opened)
    notes = tuple(_missing(program))
    module = _MODULE.match(opened.name)
    incident = Incident(
        FailedRequest(
            RequestKind.PROGRAM,
            size=program.total,
            line=program.total_line,
            executable=_XLA_SUFFIX.sub("", module["name"]) if module else None,
        ),
        holders=(HolderBlock(None, None, AllocationTable.of(list(_rows(program)))),),
        compiler=CompilerMemory(sections=tuple(_sections(program)), needed=program.total),
        fatal=False,
    )
    return Capture(
        Source(opened.path, ("xla-dump",), "xla"),
        incidents=(incident,) if program.blocks else (),
        notes=notes,
    )


def _parse(program: _Program, opened: inputs.Opened) -> None:
    block: _Block | None = None
    at_peak = table_over = False
    for number, text in enumerate(opening.document(opened).decode("utf-8", "replace").split("\n"), 1):
        line = Line(number, text.strip(), opened.label)
        row = _ROW.match(text)
        if match := None if table_over else _ALLOCATION.match(row["allocation"] if row else text):
            size = Size.exactly(int(match["size"])) if match["size"].isdigit() else parse_size(match["size"])
            block = _Block(line, size, match["flags"] or "")
            program.blocks.append(block)
        elif (match := _VALUE.match(text)) and block:
            block.values.append(
                _Value(match["name"], int(match["size"]), int(match["offset"]), match["shape"])
            )
        elif match := _INSTRUCTION.match(text):
            program.metadata[match["name"]] = text.partition("metadata={")[2].partition("}")[0]
        elif match := _TOTAL.search(text):
            program.total, program.total_line = Size.exactly(int(match["bytes"])), line
        elif text.startswith("Allocations sorted by size with their values"):
            table_over = True
        elif _PEAK.match(text):
            at_peak = True
        elif at_peak and (match := _ALIVE.match(text)):
            program.alive.setdefault(match["name"], line)
        elif at_peak:
            at_peak = False


def _missing(program: _Program) -> Iterator[ReadNote]:
    """What a cut or rounded file leaves out; a total that is not stated is summed up."""
    if program.total is None:
        program.total = sum((block.size for block in program.blocks), Size.exactly(0))
        program.total_line = program.blocks[0].line if program.blocks else None
    if not program.blocks:
        yield ReadNote("the file is cut: its allocations are missing")
    elif not program.alive and all(block.size.exact for block in program.blocks):
        yield ReadNote(
            "the file does not say which temporaries live at the same time, so the arena is one row"
        )


def _sections(program: _Program) -> Iterator[tuple[str, Size, Line]]:
    for purpose in dict.fromkeys(block.purpose for block in program.blocks):
        mine = [block for block in program.blocks if block.purpose == purpose]
        total = Size.exactly(0)
        for block in mine:
            total += block.size
        yield purpose, total, max(mine, key=lambda block: block.size.bytes).line


def _rows(program: _Program) -> Iterator[Allocation]:
    """A row for each allocation; the arena of temporaries as what lives in it at the peak, and the rest of
    it.
    """
    for block in program.blocks:
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


def _arena(program: _Program, block: _Block) -> Iterator[Allocation]:
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
        shape, dtype, _ = parse_hlo_shape(value.shape)
        node, op = _named(program, value.name)
        yield Allocation(
            node,
            value.size,
            op=op,
            shape=shape,
            dtype=dtype,
            purpose=block.purpose,
            line=program.alive[value.name],
        )
    if left:
        yield Allocation(None, left, op="gap in the arena", purpose=block.purpose, line=block.line)


def _named(program: _Program, value: str) -> tuple[str, str | None]:
    """The framework's name and op type of an instruction, else its own name with XLA's `%`."""
    metadata = program.metadata.get(value, "")
    name = re.search(r'op_name="([^"]*)"', metadata)
    op = re.search(r'op_type="([^"]*)"', metadata)
    known = name[1] if name and name[1] != "XLA_Args" else f"%{value}"
    return known, op[1] if op else re.sub(r"[.\d]+\Z", "", value)


def join(captures: list[Capture]) -> list[Capture]:
    """Of two accounts of one program the more exact one stays: the rounded report repeats the buffer
    assignment.
    """
    best: dict[str, Capture] = {}
    for capture in captures:
        if name := _program_of(capture):
            best[name] = max(best.get(name, capture), capture, key=_exact_rows)
    return [capture for capture in captures if best.get(_program_of(capture), capture) is capture]


def _program_of(capture: Capture) -> str:
    if "xla-dump" not in capture.source.formats:
        return ""
    if len(capture.incidents) != 1 or capture.incidents[0].request.kind is not RequestKind.PROGRAM:
        return ""
    return f"{Path(capture.source.path).parent}:{capture.incidents[0].request.executable}"


def _exact_rows(capture: Capture) -> int:
    return sum(1 for row in capture.incidents[0].holders[0].table if not row.error_bytes)
