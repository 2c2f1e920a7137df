"""The dump that BFC logs when it cannot serve a request (`BFCAllocator::DumpMemoryLog`), in every era's
spelling.
"""

from __future__ import annotations

import re

from tfmemlens.model.incident import BinRow, SizeClass
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.dump_figures import Dump, figure
from tfmemlens.readers.oom.rules import FIRST, LAST, SIZE, Era, LineRule, RuleTable, narrow, whole_allocator
from tfmemlens.units import ALIGNMENT, Size, parse_size

START = LineRule(
    rf"Allocator \((?P<name>[^)]*)\) ran out of memory trying to allocate (?:(?P<size>{SIZE}|\d+(?![\d.]))"
    r"|[\d.]+\Z)(?: \(rounded to (?P<rounded>\d+)\))?"
    r"(?P<soft> with(?: f\w*)?\Z| with freed_by_count|[^.]*\. The caller indicates)?"
    r"(?:\s?requested by op ?(?P<op>[^\s.`]\S*?(?=[;,]?(?:\s|\Z)))?)?",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 450.00MiB.  Current allocation summary"
    " follows.",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824).  Current"
    " allocation summary follows.",
    "Allocator (bfc_cpu_allocator_for_gpu) ran out of memory trying to allocate 144.00MiB (rounded to"
    " 150994944)requested by op gradients/c_grad/Conv2DBackpropFilter",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.27GiB with freed_by_count=0. The caller"
    " indicates that this is not a failure, but may mean that there could be performance gains if more memory"
    " were available.",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.27GiB with freed_by_count=0.",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 12.4",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 92.18MiB with freed_b",
    needs="ran out of memory trying to allocate",
)
HEAD = LineRule(
    r"BFCAllocator dump for (?P<name>\S+)",
    "BFCAllocator dump for GPU_0_bfc",
    needs="BFCAllocator dump",
    era=((2, 1), LAST),
)
BIN = LineRule(
    r"Bin \((?P<low>\d+)\):\s*Total Chunks: (?P<chunks>\d+), Chunks in use: (?P<used>\d+)\.?"
    rf" (?P<allocated>{SIZE}) allocated for chunks\."
    rf"(?: {SIZE} client-requested for chunks\.)? (?P<in_use>{SIZE}) in use in bin\.(?: (?P<requested>{SIZE})"
    r" client-requested in use in bin\.)?",
    "Bin (256): \tTotal Chunks: 88, Chunks in use: 87. 22.0KiB allocated for chunks. 21.8KiB in use in bin."
    " 3.1KiB client-requested in use in bin.",
    "Bin (256): \tTotal Chunks: 10, Chunks in use: 0 2.5KiB allocated for chunks. 1.2KiB client-requested for"
    " chunks. 0B in use in bin. 0B client-requested in use in bin.",
    needs="Total Chunks:",
)
WANT = LineRule(
    rf"Bin for (?P<size>{SIZE}) was (?P<bin>{SIZE}), Chunk State",
    "Bin for 450.00MiB was 256.00MiB, Chunk State: ",
    needs="Chunk State",
)
BIN_CHUNK = LineRule(
    rf"\bSize: (?P<size>{SIZE}) \| Requested Size: (?P<requested>{SIZE}) \| in_use: (?P<in_use>[01])",
    "  Size: 6.09GiB | Requested Size: 781.2KiB | in_use: 0, prev:   Size: 144.96MiB | Requested Size:"
    " 144.96MiB | in_use: 1",
    "Size: 129.12MiB | Requested Size: 128.00MiB | in_use: 0 | bin_num: 19",
    needs="| in_use:",
)
REGION = LineRule(
    r"Next region of size (?P<size>\d+)",
    "Next region of size 8388608",
    needs="Next region",
    era=((1, 14), LAST),
)
CHUNK = LineRule(
    r"\b(?P<state>Chunk|InUse|Free) {0,2}at (?:0x)?(?P<address>[0-9A-Fa-f]+)(?: next (?P<old_next>\d+))? of"
    r" size (?P<size>\d+)"
    r"(?: by op (?P<op>.*?) action_count (?P<action>\d+) step (?P<step>\d+))?(?: next (?P<next>\d+))?",
    "Chunk at 0x10216400000 of size 1280",
    "Free at 0x10435d82d00 of size 48000000",
    "InUse at 0x7f2c40000000 next 1 of size 1280",
    "Free  at 7f2c40000500 of size 768 next 18446744073709551615",
    "InUse at f00950000 of size 1280 next 1",
    needs=" of size ",
)
SUMMARY_HEAD = LineRule(
    r"Summary of in-use Chunks by size", "     Summary of in-use Chunks by size: ", needs="Summary of in-use"
)
SUMMARY = LineRule(
    rf"(?<!\d)(?P<count>\d{{1,19}}) Chunks of size (?P<size>\d{{1,19}}) totalling (?P<total>{SIZE})",
    "2 Chunks of size 471859200 totalling 900.00MiB",
    needs=" Chunks of size ",
)
TOTAL = LineRule(
    rf"Sum Total of in-use chunks: (?P<size>{SIZE})",
    "Sum Total of in-use chunks: 9.28GiB",
    needs="Sum Total of in-use",
)
POOL = LineRule(
    rf"(?:total_region_allocated_bytes_|Total bytes in pool|Total size in pool): (?P<pool>{SIZE}|\d+)"
    rf" memory_limit_: (?P<limit>{SIZE}|\d+) "
    rf"available (?:bytes|size): (?P<available>{SIZE}|-?\d+)(?: curr_region_allocation_bytes_:"
    rf" (?P<next>{SIZE}|\d+))?",
    "total_region_allocated_bytes_: 268435456 memory_limit_: 268435456 available bytes: 0"
    " curr_region_allocation_bytes_: 536870912",
    "Total bytes in pool: 314572800 memory_limit_: 314572800 available bytes: 0"
    " curr_region_allocation_bytes_: 536870912",
    "Total size in pool: 600.00MiB memory_limit_: 600.00MiB available size: 0B curr_region_allocation_bytes_:"
    " 1.00GiB",
    needs="memory_limit_:",
)
STATS = LineRule(r"\bStats:\s*(?:\Z|(?=Limit:))", "Stats: ", needs="Stats:")
STATS_VALUE = LineRule(
    r"(?:\A|\s)(?P<name>Limit|InUse|MaxInUse|NumAllocs|MaxAllocSize|Reserved|PeakReserved|LargestFreeBlock):"
    rf" +(?P<value>{SIZE}|\d+)\s*\Z",
    "Limit:                  7972893492",
    "MaxInUse:               600.00MiB",
    "LargestFreeBlock:                0",
    needs=": ",
)
HEADLESS = LineRule(
    r"\A\s*(?:Limit: |InUse:|MaxInUse:|NumAllocs:|MaxAllocSize:) +\d{4,}\s*\Z",
    "Limit:                 22654317364",
    "InUse: 11711043840",
    needs=": ",
)
MAP = LineRule(
    r"(?:\A|\s)(?P<map>[*_x]{60,110})\s*\Z",
    "*" * 88 + "_" * 12,
    needs=("**", "*_", "*x", "_*", "__", "_x", "x*", "x_", "xx"),
)
_CELLS = 100
_LAST_LINE = regex(r"[Rr]an out of memory trying to allocate")
ENDED = LineRule(
    rf"\bRan out of memory trying to allocate (?P<size>{SIZE})\. +See logs for memory state",
    "Ran out of memory trying to allocate 144.00MiB.  See logs for memory state.",
    needs="See logs for memory state",
)
EMPTY_MAP = LineRule(
    r"<allocator contains no memory>", "<allocator contains no memory>", needs="<allocator contains"
)
ASYNC = LineRule(
    r"(?:(?<!\S)(?P<name>\S{1,400}) )?cuMemAllocAsync failed to allocate (?P<bytes>\d+)(?: bytes)?",
    "gpu_async_0 cuMemAllocAsync failed to allocate 8589934592 bytes: CUDA error: out of memory"
    " (CUDA_ERROR_OUT_OF_MEMORY)",
    needs="cuMemAllocAsync failed",
)
ASYNC_FREE = LineRule(
    r"Free memory/Total memory: (?P<free>\d+)/(?P<total>\d+)",
    "Reported by CUDA: Free memory/Total memory: 1048576/8589934592",
    needs="Free memory/Total memory",
)
HISTOGRAM = LineRule(
    r"Histogram of current allocation",
    "Histogram of current allocation: (allocation_size_in_bytes, nb_allocation_of_that_sizes), ...;",
    needs="Histogram of current",
)
HISTOGRAM_ROW = LineRule(r"\A\s*(?P<size>\d+), (?P<count>\d+)\s*\Z", "262144, 280", needs=", ")
ASYNC_POOL = LineRule(
    r"CU_MEMPOOL_ATTR_(?P<what>RESERVED|USED)_MEM_(?P<when>CURRENT|HIGH): (?P<bytes>\d+)",
    "CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: 8388608",
    needs="CU_MEMPOOL_ATTR",
)
BORING = LineRule(
    r"[Cc]urrent allocation summary follows|If the cause is memory fragmentation maybe the environment"
    r" variable|Chunk State: *\Z",
    "Current allocation summary follows.",
    "If the cause is memory fragmentation maybe the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async'"
    " will improve the situation. ",
    needs=("allocation summary", "memory fragmentation", "chunk state"),
)
COLLAPSED = LineRule(
    r"\A\W*(?:\.{3,}|…|\[\.\.\.\]|<\.\.\.>)\W*"
    r"(?:<?(?:\d+ )?(?:(?:more|other|such) )?(?:lines? |rows? |messages? )?"
    r"(?:repeated|similar|truncat|snip|skip|omit|more|cut\b|delet|remov|hidden|left out|not shown).*)?\Z"
    r"|repeated similar messages|\A\W*\[?(?:snip|truncated)\]?\W*\Z|\A\W*(?:output|log) (?:was )?truncated\b",
    "... <repeated similar messages> ...",
    "...",
    "... 300 lines omitted ...",
    "[... 12 more lines truncated ...]",
)

_FIRST_BINS, _LATER_BINS = (FIRST, (1, 3)), ((1, 4), LAST)
"""TensorFlow that prints what clients requested for all chunks of a bin, and that does not."""
_DUMP_RULES = (HEAD, BIN, WANT, BIN_CHUNK, REGION, SUMMARY_HEAD, SUMMARY, TOTAL, POOL)
_OF_A_DUMP = RuleTable.of(
    *_DUMP_RULES, START, CHUNK, STATS, HEADLESS, MAP, ENDED, EMPTY_MAP, ASYNC, ASYNC_FREE, HISTOGRAM, BORING
)
"""Lines that are a dump's where none has begun."""

_LAST_OF_1_13 = 720
"""Up to 1.13 lines 600 to 700 of the allocator's source log the summary, from 1.14 on lines behind 800."""
_OF_HISTOGRAMS = "gpu_cudamallocasync_allocator"
"""The file of TensorFlow's and XLA's that logs histograms of the driver's own pool."""
_NO_FAILURE, _NEXT = regex(r"\W*The caller indicates that this is not a failure\b"), 2
"""A warning's second sentence on a line of its own, so many lines below the first at most."""
_OF_A_FAILURE = regex(r"rounded to|requested by|summary follows")
"""What the head of a dump says and the head of a warning does not."""


_CUT_AT_ITS_SIZE = regex(
    r"Allocator \([^)]*\) ran out of memory trying to allocate [\d.]+(?:[KMGT]i?B?)?(?: w\w*)?\Z"
)


class DumpCollector:
    """Collects the lines of dumps, one dump after another."""

    def __init__(self) -> None:
        self.dump: Dump | None = None
        self.finished: list[Dump] = []
        self.soft: list[tuple[Size, str, Line]] = []
        self.origin = ""
        """The source file that the line's prefix names."""
        self.at = 0
        """The line in that file, of a row of the summary."""
        self._in_stats = self._in_histogram = False

    def offer(self, line: Line) -> bool:
        """Take the line if it belongs to a dump."""
        text = line.text
        if self.dump is None and not (_OF_A_DUMP.likely(text) or _OF_HISTOGRAMS in self.origin):
            return False
        if self.dump and _NO_FAILURE.match(text) and self._was_a_warning(self.dump, line):
            return True
        if self._chunk(text, line):
            return True
        if match := START.search(text):
            return self._start(match.groupdict(), line)
        if not self._in_stats and HEADLESS.search(text):
            self._open(line).ended_chunks = True
            self._in_stats = True
        if self._in_stats and (match := STATS_VALUE.search(text)):
            assert self.dump
            self.dump.stats[match["name"]] = (figure(match["value"]), line)
            if match["name"] in ("Reserved", "PeakReserved", "LargestFreeBlock"):
                self._seen(((2, 2), LAST))
            return True
        for rule in _DUMP_RULES:
            if match := rule.search(text):
                self._take(rule, match.groupdict(), line)
                return True
        return self._async(text, line) or self._tail(text, line)

    def _was_a_warning(self, dump: Dump, line: Line) -> bool:
        """Whether what began a dump was a warning's first sentence, of which this line is the second."""
        if dump.start is None or dump.size is None or dump.sizes or dump.classes or dump.stats:
            return False
        if line.number - dump.start.number > _NEXT:
            return False
        self.soft.append((dump.size, dump.allocator or "", dump.start))
        self.dump = None
        return True

    def _async(self, text: str, line: Line) -> bool:
        """The driver's own pool (`cuda_malloc_async`): no chunks, but a histogram and the pool's figures."""
        if match := ASYNC.search(text):
            self.finish()
            dump = self._open(line)
            dump.start, dump.allocator, dump.size = (
                line,
                match["name"] or "cuda_malloc_async",
                Size.exactly(int(match["bytes"])),
            )
            self._seen(((2, 5), LAST))
            self._free_of_device(text, line)  # the next line, where a terminal's wrap was undone
        elif ASYNC_FREE.search(text):
            self._free_of_device(text, line)
        elif HISTOGRAM.search(text):
            self._open(line)
            self._in_histogram = True
        elif (match := self._row(text)) is not None:
            self._count(SizeClass(int(match["count"]), int(match["size"]), line))
        elif self.dump and (match := ASYNC_POOL.search(text)):
            self._in_histogram = False
            if match["when"] == "CURRENT":
                self.dump.figures["pool" if match["what"] == "RESERVED" else "used"] = (
                    Size.exactly(int(match["bytes"])),
                    line,
                )
        else:
            return False
        return True

    def _free_of_device(self, text: str, line: Line) -> None:
        """What the driver says of the whole device below a request of its own pool."""
        if match := ASYNC_FREE.search(text):
            free, total = (Size.exactly(int(match[name])) for name in ("free", "total"))
            self._open(line).device_free = (free, total, line)

    def _row(self, text: str) -> re.Match[str] | None:
        """A row of the histogram; where its head is cut, by the file that logs it."""
        logged = _OF_HISTOGRAMS in self.origin
        return HISTOGRAM_ROW.search(text) if logged or (self._in_histogram and self.dump) else None

    def _count(self, row: SizeClass) -> None:
        """Keep a row; devices print theirs at once, line by line, so of a size the largest count stands."""
        assert row.line
        dump, self._in_histogram = self._open(row.line), True
        if dump.allocator is None and _OF_HISTOGRAMS in self.origin:
            dump.allocator = "cuda_malloc_async"
        index = next((at for at, each in enumerate(dump.classes) if each.size_bytes == row.size_bytes), None)
        if index is None:
            dump.classes.append(row)
        elif dump.classes[index].count < row.count:
            dump.classes[index] = row

    def _tail(self, text: str, line: Line) -> bool:
        if STATS.search(text):
            self._open(line).ended_chunks = True
            self._in_stats = True
            if match := STATS_VALUE.search(text):
                self._open(line).stats[match["name"]] = (figure(match["value"]), line)
            return True
        if match := ENDED.search(text):  # the last line of dumps up to 1.0
            self._ended(parse_size(match["size"], ALIGNMENT), line)
            return True
        if (match := MAP.search(text)) or EMPTY_MAP.search(text):
            if self.dump or (match and self._alone(match["map"])):
                self._open(line).map = (match["map"] if match else "_", line)
            self.finish()
            return True
        if self.dump and COLLAPSED.search(text):
            self.dump.collapsed = line
            return True
        return bool(BORING.search(text))

    def _alone(self, stars: str) -> bool:
        """Whether a map is one, of which the dump above is not here: the allocator logged it, in full."""
        return "bfc_allocator.cc" in self.origin and len(stars) == _CELLS

    def _chunk(self, text: str, line: Line) -> bool:
        match = CHUNK.search(text)
        if not match:
            return False
        if int(match["size"]) >= 1 << 63:
            return False  # no allocator ever had that much: the digits are damaged
        dump = self._open(line)
        if dump.ended_chunks and dump.sizes:  # the head of the next dump is missing
            self.finish()
            dump = self._open(line)
        state, address, old_next, size, op, _, _, after = match.groups()
        dump.address.append(int(address, 16) & 0xFFFFFFFFFFFFFFFF)
        dump.sizes.append(int(size))
        dump.used.append(state != "Free")
        dump.region.append(max(len(dump.regions) - 1, 0))
        if op:
            dump.ops.extend([None] * (len(dump.sizes) - 1 - len(dump.ops)) + [op])
        elif dump.ops:
            dump.ops.append(None)
        if state == "Free" and (dump.largest_free_line is None or int(size) >= self._largest):
            dump.largest_free_line, self._largest = line, int(size)
        if len(dump.sizes) == 1:
            newer = ((2, 1), LAST) if after else (FIRST, (1, 13))
            self._seen(((1, 14), (2, 0)) if old_next else newer)
        return True

    _largest = 0

    def _start(self, groups: dict[str, str | None], line: Line) -> bool:
        told = groups["size"]
        size = None
        if told is not None:
            size = figure(told) if told.isdigit() else parse_size(told, ALIGNMENT)
        if size and groups["soft"]:
            self.soft.append((size, groups["name"] or "", line))
            return True
        self.finish()
        dump = self._open(line)
        dump.start, dump.allocator, dump.op = line, whole_allocator(groups["name"]), groups["op"]
        dump.size = Size.exactly(int(groups["rounded"])) if groups["rounded"] else size
        if "requested by op" in line.text:
            self._seen(((2, 2), LAST))
        elif groups["rounded"]:
            self._seen(((1, 14), (2, 2)))
        elif "summary follows" in line.text:
            self._seen((FIRST, (1, 13)))
        return True

    def _take(self, rule: LineRule, groups: dict[str, str | None], line: Line) -> None:
        dump = self._open(line)
        if rule is HEAD:
            dump.allocator = dump.allocator or whole_allocator(groups["name"])
        elif rule is BIN:
            requested = parse_size(groups["requested"]) if groups["requested"] else None
            self._seen(_FIRST_BINS if "client-requested for chunks" in line.text else _LATER_BINS)
            dump.bins.append(
                (
                    parse_size(groups["allocated"] or "", ALIGNMENT),
                    parse_size(groups["in_use"] or "", ALIGNMENT),
                    requested,
                )
            )
            dump.bin_rows.append(
                BinRow(int(groups["low"] or 0), int(groups["used"] or 0), dump.bins[-1][1], line)
            )
        elif rule is WANT and dump.size is None:
            dump.size = parse_size(groups["size"] or "", ALIGNMENT)
        elif rule is BIN_CHUNK and groups["in_use"] == "0":
            dump.bin_free.append((parse_size(groups["size"] or "", ALIGNMENT), line))
        elif rule is REGION:
            dump.regions.append(int(groups["size"] or 0))
        elif rule is SUMMARY:
            dump.ended_chunks = True
            if 0 < self.at <= _LAST_OF_1_13:
                self._seen((FIRST, (1, 13)))
            entry = SizeClass(int(groups["count"] or 0), int(groups["size"] or 0), line)
            if parse_size(groups["total"] or "").may_be(entry.count * entry.size_bytes):
                dump.classes.append(entry)
            else:
                dump.damaged.append(line)
        elif rule is TOTAL:
            dump.total = (parse_size(groups["size"] or ""), line)
        elif rule is POOL:
            self._pool(dump, groups, line)
        self._seen(rule.era)

    def _pool(self, dump: Dump, groups: dict[str, str | None], line: Line) -> None:
        dump.figures["pool"] = (figure(groups["pool"] or "0"), line)
        dump.figures["limit"] = (figure(groups["limit"] or "0"), line)
        if "total_region" in line.text:
            self._seen(((1, 14), (2, 11)))
        else:
            self._seen(((2, 12), (2, 20)) if "Total bytes" in line.text else ((2, 21), LAST))

    def _ended(self, size: Size, line: Line) -> None:
        self.finish()
        if not self.finished or self.finished[-1].size is not None:
            self._open(line)
            self.finish()
        self.finished[-1].size, self.finished[-1].start = size, self.finished[-1].start or line
        self.finished[-1].era = narrow(self.finished[-1].era, (FIRST, (1, 1)))

    def _open(self, line: Line) -> Dump:
        if self.dump is None:
            self.dump = Dump(line)
            self._in_stats = False
        return self.dump

    def _seen(self, era: Era | None) -> None:
        if self.dump:
            self.dump.era = narrow(self.dump.era, era)

    def _retold(self, dump: Dump) -> bool:
        """Whether these are statistics of an earlier dump again, whose other lines a filter took away."""
        alone = dump.start is None and not dump.sizes and not dump.classes and bool(dump.stats)
        told = {name: size for name, (size, _) in dump.stats.items()}
        return alone and any(
            told.items() <= {name: size for name, (size, _) in known.stats.items()}.items()
            for known in self.finished
        )

    def finish(self) -> None:
        """Close the dump that is being read."""
        if self.dump and not self._retold(self.dump):
            self.finished.append(self.dump)
        self.dump, self._in_stats, self._in_histogram, self._largest = None, False, False, 0

    def settle(self) -> None:
        """Close the last dump, and leave out what only quotes a harmless refusal: a title or a sentence that
        repeats the head of such a warning without what the warning goes on to say.
        """
        self.finish()
        self.finished = [dump for dump in self.finished if not self._quotes_a_warning(dump)]
        self._give_title_its_dump()

    def _give_title_its_dump(self) -> None:
        """Join a title that quotes a dump's last line with the one dump below it, which names no request."""
        if len(self.finished) != 2:
            return
        title, dump = self.finished
        if title.told or dump.size is not None or not dump.told or title.size is None or not title.start:
            return
        if not _LAST_LINE.search(title.start.text):
            return
        dump.size, dump.start, dump.era = title.size, title.start, narrow(dump.era, title.era)
        dump.allocator = dump.allocator or title.allocator
        self.finished = [dump]

    def _ends_warnings(self, line: Line) -> bool:
        """Whether it is the last line of a row of warnings, cut before it says that it is one, too."""
        last = self.soft[-1][2] if self.soft else None
        below = last is not None and last.source == line.source and last.number < line.number
        return below and _CUT_AT_ITS_SIZE.search(line.text) is not None

    def _quotes_a_warning(self, dump: Dump) -> bool:
        whole = dump.start is None or _OF_A_FAILURE.search(dump.start.text)
        if whole or dump.told:
            return False
        if dump.start and self._ends_warnings(dump.start):
            return True
        if dump.size is None:
            return False
        return any(size.low <= dump.size.high and dump.size.low <= size.high for size, _, _ in self.soft)
