"""What `--xla_dump_to` writes about memory: `…-buffer-assignment.txt` (exact) and `…-memory-usage-report.txt`
(rounded, and without an order).

One file tells of one compiled program: its allocations (arguments, results, one arena for all temporaries)
and, in the first, between which instructions each value lives. Newer XLA parts the first into three:
`…-live-range.txt` and `…-buffer-assignment-values.txt` are read with it from its folder. Read in TensorFlow
2.8, 2.11, 2.16 and 2.21 and jax 0.10, on CPU; 2.4 states no live ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.line import Line, ReadNote
from tfmemlens.patterns import regex
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering import inputs, opening
from tfmemlens.readers.oom.rules import SIZE
from tfmemlens.readers.timelines.compiled_program import Placed, ProgramBlock, ProgramDraft, incident
from tfmemlens.units import Size, parse_size

HOLDS = Holds.FAILURES
SUFFIXES = (".txt",)
_PARTS = ("-live-range.txt", "-buffer-assignment-values.txt")
_WHOLE = "-buffer-assignment.txt"
COMPANIONS = (".ll", ".o", ".mlir", ".debug_options", ".dot", ".svg", *_PARTS)
_ALLOCATION = regex(
    rf"allocation (?P<index>\d+): (?:0x[0-9a-f]+, )?size (?P<size>\d{{1,19}}(?=[,:\s]|\Z)|{SIZE})"
    r"(?:, (?P<flags>.*?))?:?\s*\Z"
)
_VALUE = regex(
    r"\s*value: <\d+ (?P<name>\S+?)(?P<index>\{[^}]*\})? @\d+> "
    r"\(size=(?P<size>\d{1,19}),offset=(?P<offset>\d{1,19})\): (?P<shape>.+?)\s*\Z"
)
_INSTRUCTION = regex(r"\s*from instruction: ?(?:ROOT )?%(?P<name>\S+) = ")
_PEAK = regex(r"\s*Live ranges at (?P<at>\d{1,19}) \(peak\):")
_ALIVE = regex(r"\s+(?P<name>[^\s{:]+)(?:\{[^}]*\})?: (?P<size>\d{1,19}) bytes")
_SEQUENCE = regex(r"\s+(?P<at>\d{1,9}):(?P<name>\S+)\s*\Z")
_RANGE = regex(r"\s+(?P<name>[^\s{:]+)(?P<index>\{[^}]*\})?:(?P<start>\d{1,9})-(?P<end>\d{1,9})\s*\Z")
_ROW = regex(r"\s*\S+ *\( *\d+%\); +\S+; (?P<allocation>allocation \d+: .*)")
_TOTAL = regex(rf"Total bytes used: (?P<bytes>\d{{1,19}}) \({SIZE}\)")
_MODULE = regex(
    r"(?:\d+\.)?module_\d+\.(?P<name>.+?)\.(?:\d+\.)?(?:sm_[\d.]+_)?(?:gpu|cpu|tpu)_after_optimizations"
)
_XLA_SUFFIX = regex(r"__Xla(?:MustCompile|CompiledKernel|HasReferenceVars|NumConstantArgs)_.*")


def sniff(sample: Sample) -> Confidence:
    """A text begins like one of these files."""
    start = sample.text.lstrip(b"\xef\xbb\xbf \r\n")
    known = start.startswith(b"BufferAssignment:") or (
        start.startswith(b"Total bytes used:") and b"Allocations sorted by size" in start
    )
    known = known or start.startswith(b"HloLiveRange (max")
    return Confidence.CERTAIN if known else Confidence.NO


def read(opened: inputs.Opened, hints: Hints = Hints()) -> Capture:
    """The program as one account of memory, no failure."""
    del hints
    program = ProgramDraft()
    _parse(program, opening.document(opened), opened.label)
    for beside, raw in _parts_beside(opened):
        _parse(program, raw, beside)
    if program.ranges and not program.blocks:
        raise UnreadableInput(
            f"{opened.path} says when values live, not how large they are",
            f"give the file beside it whose name ends in {_WHOLE}: it is read together with this one",
        )
    notes = tuple(_missing(program))
    module = _MODULE.match(opened.name)
    name = _XLA_SUFFIX.sub("", module["name"]) if module else None
    return Capture(
        Source(opened.path, ("xla-dump",), "xla"),
        incidents=(incident(program, name),) if program.blocks else (),
        notes=notes,
    )


def _parts_beside(opened: inputs.Opened) -> Iterator[tuple[str, bytes]]:
    """What newer XLA writes into files of their own, from the same folder, with their names."""
    if opened.is_text or not opened.path.endswith(_WHOLE):
        return
    for ending in _PARTS:
        beside = Path(opened.path.removesuffix(_WHOLE) + ending)
        if beside.is_file() and beside.stat().st_size <= opening.DOCUMENT:
            yield beside.name, beside.read_bytes()


def _parse(program: ProgramDraft, raw: bytes, label: str) -> None:
    block: ProgramBlock | None = None
    at_peak = table_over = in_order = False
    for number, text in enumerate(raw.decode("utf-8", "replace").split("\n"), 1):
        line = Line(number, text.strip(), label)
        row = _ROW.match(text)
        if match := None if table_over else _ALLOCATION.match(row["allocation"] if row else text):
            size = Size.exactly(int(match["size"])) if match["size"].isdigit() else parse_size(match["size"])
            block = ProgramBlock(line, size, match["flags"] or "")
            program.blocks.append(block)
        elif (match := _VALUE.match(text)) and block:
            block.values.append(
                Placed(
                    match["name"],
                    int(match["size"]),
                    int(match["offset"]),
                    match["shape"],
                    _part(match["index"]),
                )
            )
        elif match := _INSTRUCTION.match(text):
            program.metadata[match["name"]] = text.partition("metadata={")[2].partition("}")[0]
        elif match := _TOTAL.search(text):
            program.total, program.total_line = Size.exactly(int(match["bytes"])), line
        elif text.startswith("Allocations sorted by size with their values"):
            table_over = True
        elif text.startswith("HloLiveRange"):
            in_order = True
        elif _PEAK.match(text):
            at_peak, in_order = True, False
        elif in_order and (match := _RANGE.match(text)):
            lived = (int(match["start"]), int(match["end"]), line)
            program.ranges.setdefault((match["name"], _part(match["index"])), lived)
        elif in_order and (match := _SEQUENCE.match(text)):
            program.instructions.append(match["name"])
        elif at_peak and (match := _ALIVE.match(text)):
            program.alive.setdefault(match["name"], line)
        elif at_peak:
            at_peak = False


def _part(index: str | None) -> str:
    """Which part of a tuple: XLA writes `{}` for a value that is a whole, in some files and not in others."""
    return "" if index in (None, "{}") else str(index)


def _missing(program: ProgramDraft) -> Iterator[ReadNote]:
    """What a cut or rounded file leaves out; a total that is not stated is summed up."""
    if program.total is None:
        program.total = sum((block.size for block in program.blocks), Size.exactly(0))
        program.total_line = program.blocks[0].line if program.blocks else None
    if not program.blocks:
        yield ReadNote("the file is cut: its allocations are missing")
    elif not program.alive and not program.ranges and all(block.size.exact for block in program.blocks):
        yield ReadNote(
            "the file does not say which temporaries live at the same time, so the arena is one row"
        )


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
