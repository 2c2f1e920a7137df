"""The list that `report_tensor_allocations_upon_oom` appends to an OOM error
(`StepStatsCollector::ReportAllocsOnResourceExhausted`).
"""

from __future__ import annotations

from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.incident import HolderBlock
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.dump import COLLAPSED
from tfmemlens.readers.oom.rules import DEVICE, SIZE, LineRule, whole_allocator, whole_device
from tfmemlens.readers.oom.wraps import LOST
from tfmemlens.units import ALIGNMENT, Size, parse_size
from tfmemlens.values import dataclass, field

HEADER = LineRule(
    rf"Current usage from device: (?P<device>{DEVICE}|\S+?),? allocator: (?P<allocator>.+?)\s*\Z",
    "Current usage from device: /job:localhost/replica:0/task:0/device:GPU:0, allocator: GPU_0_bfc",
    needs="Current usage from device",
)
ENTRY = LineRule(
    rf"(?:\A|[\s|>:\]#*-])(?P<size>{SIZE}) from (?P<node>[A-Za-z0-9_.^{{/][^\s,;]*)\s*\Z",
    "  450.14MiB from shared_model/unet_01/BiasAdd-0-1-TransposeNCHWToNHWC-LayoutOptimizer",
    "512B from gradients/Mean_grad/truediv",
    needs=" from ",
)
ODD_ENTRY = LineRule(
    rf"\A\s*(?P<size>{SIZE}) from(?: +(?P<node>(?![A-Za-z0-9_.^{{/][^\s,;]*\s*\Z)\S.*?))?\s*\Z",
    "  900.00MiB from ",
    "  1.00GiB from my layer (copy)/Relu",
    needs=" from",
)
"""A row inside a list whose node has no name, or one that TensorFlow would refuse."""
REMAINING = LineRule(
    rf"Remaining (?P<nodes>\d+) nodes? with (?P<size>{SIZE})",
    "  Remaining 94 nodes with 29.03MiB",
    needs="Remaining ",
)
_ROW = regex(r"\s*\S+ from \S+\s*\Z")
_WITHOUT_START = regex(r"(?:\.\d+)?(?:B|[KMGT]?iB) from [A-Za-z0-9_.^{/]\S*\s*\Z")
"""A row whose first digits are gone: those of others beside it may be, too."""


_OF_A_LIST = regex(
    r"\s*(?:[\d.]+[KMGT]?i?B from [A-Za-z0-9_.^{/][^\s,;]*\s*\Z|Remaining \d+ nodes? with \d"
    r"|Current usage from device)"
)


def is_of_a_list(text: str) -> bool:
    """Whether a line is TensorFlow's own row or head of a list of tensors, and so nobody's prose."""
    return _OF_A_LIST.match(text) is not None


@dataclass
class Block:
    """One block of a report while it is read."""

    first: Line
    device: str | None = None
    allocator: str | None = None
    header: Line | None = None
    rows: list[tuple[str, Size, Line]] = field(default_factory=list)
    nodes: int = 0
    rest: Size = field(default_factory=lambda: Size.exactly(0))
    tail: Line | None = None
    cut: bool = False
    headless: bool = False
    """Whether the start of its rows is gone, and with it the first digits of their sizes."""

    def holders(self) -> HolderBlock:
        """The block as a value; equal lines of one node become one row with a count."""
        merged: dict[tuple[str, int], list[Line]] = {}
        errors: dict[int, int] = {}
        for node, size, line in self.rows:
            merged.setdefault((node, size.bytes), []).append(line)
            errors[size.bytes] = size.error_bytes
        table = AllocationTable.of(
            [
                Allocation(
                    node or None,
                    size,
                    device=self.device,
                    allocator=self.allocator,
                    count=len(lines),
                    error_bytes=errors[size],
                    line=lines[0],
                )
                for (node, size), lines in merged.items()
            ]
        )
        return HolderBlock(
            self.device, self.allocator, table, self.nodes, self.rest, self.header, self.tail, self.cut
        )

    @property
    def alignment(self) -> int:
        """BFC hands out multiples of 256, which makes printed figures sharper; malloc behind `cpu` does
        not.
        """
        return ALIGNMENT if self.allocator is None or "bfc" in self.allocator.lower() else 1

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """Equal for two tellings of the same block."""
        return (
            self.device,
            self.allocator,
            tuple((node, size.bytes) for node, size, _ in self.rows),
            self.nodes,
            self.rest.bytes,
        )


class ReportCollector:
    """Collects the blocks of reports."""

    def __init__(self) -> None:
        self.block: Block | None = None
        self.finished: list[Block] = []
        self.unread: list[Line] = []
        """Rows of a list that have lost their size."""
        self.overrun: list[Line] = []
        """Rows whose size no memory has: a counter that ran over."""

    def offer(self, line: Line) -> bool:
        """Take the line if it belongs to a report."""
        if match := HEADER.search(line.text):
            self.finish()
            self.block = Block(
                line, whole_device(match["device"].rstrip(",")), whole_allocator(match["allocator"]), line
            )
            return True
        if match := REMAINING.search(line.text):
            block = self._open(line)
            block.tail = line
            if rest := self._size(match["size"], line):
                block.nodes, block.rest = int(match["nodes"]), rest
            self.finish()
            return True
        if match := ENTRY.search(line.text):
            block = self._open(line)
            if size := self._size(match["size"], line):
                block.rows.append((match["node"], size, line))
            return True
        if self.block and (match := ODD_ENTRY.search(line.text)):
            self.block.cut = self.block.cut or LOST in line.text
            if size := self._size(match["size"], line):
                self.block.rows.append(((match["node"] or "").strip(LOST), size, line))
            return True
        if _WITHOUT_START.match(line.text):
            self._open(line).headless = True
            self.unread.append(line)
            return True
        if self.block and self.block.rows and _ROW.match(line.text):
            self.unread.append(line)
            return True
        if self.block and self.block.rows and COLLAPSED.search(line.text):
            self.block.cut = True
            return True
        return False

    def _size(self, text: str, line: Line) -> Size | None:
        """The size of a row, None of one that no memory has."""
        size = parse_size(text, self._open(line).alignment)
        if not size.impossible:
            return size
        self.overrun.append(line)
        return None

    def _open(self, line: Line) -> Block:
        if self.block is None:
            self.block = Block(line)
        return self.block

    def finish(self) -> None:
        """Close the block that is being read."""
        block, self.block = self.block, None
        if block and block.headless:
            self.unread += [line for _, _, line in block.rows]
            block.rows.clear()
            block.cut = True
        if block and (block.rows or not block.headless):
            self.finished.append(block)
