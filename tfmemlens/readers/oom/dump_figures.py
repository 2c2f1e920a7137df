"""What one dump says of its allocator: chunks, bins, statistics, and the figures that follow from them."""

from __future__ import annotations

from array import array

from tfmemlens.model.incident import AllocatorState, BinRow, ChunkMap, SizeClass
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import FIRST, LAST, Era
from tfmemlens.units import Size, parse_size
from tfmemlens.values import dataclass, field

_STATE_FIELDS = {
    "Limit": "limit",
    "InUse": "in_use",
    "MaxInUse": "peak",
    "MaxAllocSize": "largest_allocation",
}
_BINS = 21
"""A dump has as many: 256 B, and twice that twenty times (`BFCAllocator::kNumBins`)."""
_Figure = tuple[Size, "Line | None"]


@dataclass
class Dump:
    """One dump as it is read. Columns for the chunks, since a dump can hold a million of them."""

    first: Line
    allocator: str | None = None
    size: Size | None = None
    op: str | None = None
    start: Line | None = None
    address: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    used: bytearray = field(default_factory=bytearray)
    region: array[int] = field(default_factory=lambda: array("l"))
    ops: list[str | None] = field(default_factory=list)
    regions: list[int] = field(default_factory=list)
    classes: list[SizeClass] = field(default_factory=list)
    bins: list[tuple[Size, Size, Size | None]] = field(default_factory=list)
    bin_rows: list[BinRow] = field(default_factory=list)
    bin_free: list[tuple[Size, Line]] = field(default_factory=list)
    total: tuple[Size, Line] | None = None
    figures: dict[str, tuple[Size, Line]] = field(default_factory=dict)
    stats: dict[str, tuple[Size, Line]] = field(default_factory=dict)
    ended_chunks: bool = False
    collapsed: Line | None = None
    map: tuple[str, Line] | None = None
    """The bar at its end: a character for each hundredth of the pool, `_` where it is free."""
    damaged: list[Line] = field(default_factory=list)
    """Rows of the summary whose figures contradict one another: some of their digits are gone."""
    era: Era = (FIRST, LAST)
    largest_free_line: Line | None = None
    device_free: tuple[Size, Size, Line] | None = None
    """Free and total memory of the whole device, as the driver says (cuda_malloc_async)."""

    @property
    def told(self) -> bool:
        """Whether more is here than the line that names the request."""
        return bool(
            self.sizes
            or self.classes
            or self.bins
            or self.bin_free
            or self.figures
            or self.stats
            or self.total
        )

    def state(self) -> AllocatorState:
        """The allocator's figures, exact ones before printed ones."""
        stated = self._stated()
        lines = {name: line for name, (_, line) in stated.items() if line}
        values = {name: size for name, (size, _) in stated.items()}
        in_use = self._in_use(values.get("in_use"))
        if in_use and "in_use" not in lines and self.total:
            lines["in_use"] = self.total[1]
        pool = self._pool(values.get("pool"))
        largest, line = self._largest_free()
        if line:
            lines["largest_free_chunk"] = line
        if self.map:
            lines["occupied"] = self.map[1]
        free = (
            Size(
                max(pool.bytes - in_use.bytes, 0),
                max(pool.low - in_use.high, 0),
                max(pool.high - in_use.low, 0),
            )
            if pool and in_use
            else None
        )
        allocations = self.stats.get("NumAllocs")
        return AllocatorState(
            limit=values.get("limit"),
            in_use=in_use,
            peak=values.get("peak"),
            largest_allocation=values.get("largest_allocation"),
            pool=pool,
            free=free,
            largest_free_chunk=largest if largest or not self.complete else Size.exactly(0),
            free_chunks=sum(1 for used in self.used if not used) if self.complete else None,
            requested_in_use=self._requested(in_use),
            allocations=allocations[0].bytes if allocations else None,
            occupied=1 - self.map[0].count("_") / len(self.map[0]) if self.map else None,
            free_run=max(map(len, regex("[^_]").split(self.map[0]))) / len(self.map[0]) if self.map else None,
            bins=tuple(self.bin_rows) if len(self.bin_rows) < _BINS else (),
            lines=tuple(lines.items()),
        )

    @property
    def overrun(self) -> list[Line]:
        """Lines that state what no memory has, or more than twice what the allocator may take at all."""
        stated = self._as_stated()
        return [line for name, (_, line) in stated.items() if line and not _believable(name, stated)]

    def _stated(self) -> dict[str, _Figure]:
        """The figures that lines state and that can be true."""
        stated = self._as_stated()
        return {name: told for name, told in stated.items() if _believable(name, stated)}

    def _as_stated(self) -> dict[str, _Figure]:
        """The figures that lines state, each with its line: exact ones before printed ones."""
        figures: dict[str, _Figure] = {
            field: self.stats[name] for name, field in _STATE_FIELDS.items() if name in self.stats
        }
        if "limit" in figures and not figures["limit"][0].bytes:  # 0 stands for none: cuda_malloc_async
            del figures["limit"]
        for name in ("limit", "pool"):
            if name in self.figures and not (name in figures and figures[name][0].exact):
                figures[name] = self.figures[name]
        if "in_use" not in figures and "used" in self.figures:
            figures["in_use"] = self.figures["used"]
        return self._of_device(figures) if self.device_free else figures

    def _of_device(self, figures: dict[str, _Figure]) -> dict[str, _Figure]:
        """Without a limit of its own the pool may take the device; what others hold of the device it
        cannot.
        """
        assert self.device_free
        free, total, line = self.device_free
        if "limit" not in figures:
            figures = {
                "in_use": (Size.exactly(total.bytes - free.bytes), None),
                "pool": (total, None),
                **figures,
                "limit": (total, line),
            }
        pool, limit = figures.get("pool"), figures["limit"]
        if pool and pool[0].bytes + free.bytes < limit[0].bytes:
            figures["limit"] = (Size.exactly(pool[0].bytes + free.bytes), line)
        return figures

    @property
    def chunk_bytes_in_use(self) -> int:
        """Sum of the in-use chunks that the dump lists."""
        return sum(size for size, used in zip(self.sizes, self.used, strict=True) if used)

    @property
    def complete(self) -> bool:
        """Whether the chunk list is whole: it agrees with the total that the dump prints, or nothing speaks
        against it.
        """
        if not self.sizes or self.collapsed:
            return False
        listed = self.chunk_bytes_in_use
        if "InUse" in self.stats:
            return self.stats["InUse"][0].may_be(listed)
        if self.total:
            return self.total[0].may_be(listed)
        return self.ended_chunks and self.start is not None

    def _in_use(self, stated: Size | None) -> Size | None:
        if stated and stated.exact:
            return stated
        if self.complete:
            return Size.exactly(self.chunk_bytes_in_use)
        if self.classes and self.total:
            summed = sum(entry.count * entry.size_bytes for entry in self.classes)
            if self.total[0].may_be(summed):
                return Size.exactly(summed)
        return stated or (self.total[0] if self.total else self._of_bins(1))

    def _of_bins(self, column: int) -> Size | None:
        """What the bins hold together, where all of them are there: allocated (0) or in use (1)."""
        if len(self.bins) < _BINS:
            return None
        whole = Size.exactly(0)
        for entry in self.bins:
            whole += (entry[0], entry[1])[column]
        return whole

    def _pool(self, stated: Size | None) -> Size | None:
        if stated and stated.exact:
            return stated
        if self.complete:
            return Size.exactly(sum(self.sizes))
        if self.regions and self.ended_chunks and self.start and not self.collapsed:
            return Size.exactly(sum(self.regions))
        return stated or self._of_bins(0)

    def _largest_free(self) -> tuple[Size | None, Line | None]:
        chunks = [size for size, used in zip(self.sizes, self.used, strict=True) if not used]
        if chunks:
            return Size.exactly(max(chunks)), self.largest_free_line
        if self.bin_free:
            return max(self.bin_free, key=lambda entry: entry[0].bytes)
        return None, None

    def _requested(self, in_use: Size | None) -> Size | None:
        if (
            not self.bins
            or in_use is None
            or any(entry[2] is None for entry in self.bins)
            or len(self.bins) < _BINS
        ):
            return None
        waste = Size.exactly(0)
        for _, used, requested in self.bins:
            if requested is not None:
                waste += Size(
                    used.bytes - requested.bytes, used.low - requested.high, used.high - requested.low
                )
        return Size(in_use.bytes - waste.bytes, in_use.low - waste.high, in_use.high - waste.low)

    def chunk_map(self) -> ChunkMap | None:
        """The chunks in the order of the dump, None if it lists none."""
        if not self.sizes:
            return None
        ops = self.ops if any(self.ops) else ()
        return ChunkMap(
            self.address,
            self.sizes,
            [bool(used) for used in self.used],
            self.region,
            (),
            ops,
            tuple(self.regions),
            self.complete,
        )


def _believable(name: str, stated: dict[str, _Figure]) -> bool:
    """Whether a figure can be true beside the limit: a counter that ran over is not."""
    size, limit = stated[name][0], stated.get("limit")
    if size.impossible:
        return False
    return not limit or limit[0].impossible or name == "pool" or size.low <= 2 * limit[0].high


def figure(text: str) -> Size:
    """A figure of the dump: plain bytes up to 2.20, human-readable in 2.21."""
    return Size.exactly(int(text)) if text.lstrip("-").isdigit() else parse_size(text)
