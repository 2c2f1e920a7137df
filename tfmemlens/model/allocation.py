"""The one central table: who held which bytes, when.

An OOM report, a BFC dump, XLA's peak buffers, the timeline of a traced step and a prediction are all this
table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tfmemlens.model.line import Line
from tfmemlens.values import dataclass, fields

if TYPE_CHECKING:
    import pandas

Shape = tuple["int | None", ...]

OUTPUT, TEMPORARY, PERSISTENT = "output", "temp", "persist"
"""Values of `purpose`, in the words of TensorFlow's profiler (`region_type`)."""
BY_OP = "an op that a dump names"
"""`purpose` of a chunk of which a dump names the op that asked for it, by its type where it ran by itself."""
HELD = "held when a memory profile was saved"
"""`purpose` of a row that a device memory profile tells of: its node is the stack that made it."""
UNLISTED = "unlisted"
"""`purpose` of the row that stands for all that a list of the largest does not name."""
BEFORE = "in use before the step"
"""`purpose` of a row that stood before the step, and of which no more is known than its size, its end or
whose it was.
"""
PIPELINE = "made by a thread of the input pipeline"
"""`purpose` of a row that no op of the step made: the ops of a data set have names, too, and no layer."""
ELSEWHERE = "allocated elsewhere while the step ran"
"""`purpose` of a row that the allocator's total tells of and no record of the step."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """One row: bytes that one node execution holds (or `count` executions that hold as much each)."""

    node: str | None
    size_bytes: int
    op: str | None = None
    device: str | None = None
    allocator: str | None = None
    requested_bytes: int | None = None
    start_micros: float | None = None
    end_micros: float | None = None
    shape: Shape | None = None
    dtype: str | None = None
    count: int = 1
    error_bytes: int = 0
    purpose: str | None = None
    line: Line | None = None

    @property
    def total_bytes(self) -> int:
        """Bytes of all `count` executions together."""
        return self.size_bytes * self.count

    @property
    def precision(self) -> str:
        """`exact`, or `printed` where the input had rounded the figure."""
        return "printed" if self.error_bytes else "exact"


_COLUMNS = tuple(column.name for column in fields(Allocation))


@dataclass(frozen=True, slots=True)
class AllocationTable:
    """Columns of equal length, one entry an allocation; names are interned by whoever fills them.

    `size_bytes` is what the allocator handed out (a chunk), `requested_bytes` what was asked for; times are
    microseconds of one clock, `end_micros` None while alive at the end, both None in a point-in-time report.
    `error_bytes` bounds how far a printed size may be from the truth (0 = exact).
    """

    node: Sequence[str | None] = ()
    size_bytes: Sequence[int] = ()
    op: Sequence[str | None] = ()
    device: Sequence[str | None] = ()
    allocator: Sequence[str | None] = ()
    requested_bytes: Sequence[int | None] = ()
    start_micros: Sequence[float | None] = ()
    end_micros: Sequence[float | None] = ()
    shape: Sequence[Shape | None] = ()
    dtype: Sequence[str | None] = ()
    count: Sequence[int] = ()
    error_bytes: Sequence[int] = ()
    purpose: Sequence[str | None] = ()
    line: Sequence[Line | None] = ()

    @classmethod
    def of(cls, rows: Sequence[Allocation]) -> AllocationTable:
        """A table from rows, for the small ones."""
        return cls(**{name: [getattr(row, name) for row in rows] for name in _COLUMNS})

    def __len__(self) -> int:
        return len(self.size_bytes)

    def __getitem__(self, index: int) -> Allocation:
        return Allocation(
            self.node[index], self.size_bytes[index], self.op[index], self.device[index],
            self.allocator[index], self.requested_bytes[index],
            self.start_micros[index], self.end_micros[index], self.shape[index], self.dtype[index],
            self.count[index], self.error_bytes[index],
            self.purpose[index], self.line[index],
        )  # fmt: skip

    def __iter__(self) -> Iterator[Allocation]:
        return map(Allocation, *(getattr(self, name) for name in _COLUMNS))

    @property
    def total_bytes(self) -> int:
        """Sum over all rows, multiplicities included."""
        return sum(size * count for size, count in zip(self.size_bytes, self.count, strict=True))

    @property
    def total_error_bytes(self) -> int:
        """The error bar of `total_bytes`: the sum of the rows' error bars."""
        return sum(error * count for error, count in zip(self.error_bytes, self.count, strict=True))

    @property
    def precision(self) -> str:
        """`exact` when every size is, else `printed`."""
        return "printed" if any(self.error_bytes) else "exact"

    def to_frame(self) -> pandas.DataFrame:
        """The table as a pandas DataFrame: one row an allocation, bytes as int64, times in microseconds as
        float64 (NaN: unknown).
        """
        import pandas

        frame = pandas.DataFrame({name: getattr(self, name) for name in _COLUMNS if name != "line"})
        frame["line"] = [line.number if line else None for line in self.line]
        return frame.astype(
            {
                "size_bytes": "int64",
                "count": "int64",
                "start_micros": "float64",
                "end_micros": "float64",
                "requested_bytes": "Int64",
                "line": "Int64",
            }
        )
