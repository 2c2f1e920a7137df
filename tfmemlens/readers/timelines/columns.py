"""An AllocationTable in the making, for readers that meet one allocation after the other."""

from __future__ import annotations

from typing import Any

from tfmemlens.model.allocation import AllocationTable
from tfmemlens.values import dataclass, field


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

    def add(
        self, node: str | None, size: int, op: str | None, start: float | None, purpose: str | None
    ) -> int:
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
            self.node, self.size_bytes, self.op, [device] * rows, [allocator] * rows, self.requested_bytes,
            self.start_micros, self.end_micros,
            self.shape, self.dtype, [1] * rows, [0] * rows, self.purpose, [None] * rows,
        )  # fmt: skip
