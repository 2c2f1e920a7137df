"""A dump of BFC's, line by line, and the figures that follow from what it states."""

from __future__ import annotations

import shutil
from array import array
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.model.incident import SizeClass
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.dump import DumpCollector
from tfmemlens.readers.oom.dump_figures import Dump, figure
from tfmemlens.readers.oom.rules import FIRST, LAST, Era
from tfmemlens.units import KIB, MIB, Size, parse_size

EXACT = Size.exactly
START = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 450.00MiB"
MAP = "*" * 100


def collected(*lines: str) -> DumpCollector:
    collector = DumpCollector()
    for number, text in enumerate(lines, 1):
        collector.offer(Line(number, text))
    return collector


def read(*lines: str) -> Dump:
    """The one dump that they make."""
    collector = collected(*lines)
    collector.finish()
    (found,) = collector.finished
    return found


class TestTheFirstLine:
    @pytest.mark.parametrize(
        "rest, size, op, era",
        [
            (".  Current allocation summary follows.", 450 * MIB, None, (FIRST, (1, 13))),
            (
                " (rounded to 471859456).  Current allocation summary follows.",
                471_859_456,
                None,
                ((1, 14), (2, 2)),
            ),
            (" (rounded to 471859456)requested by op net/mul", 471_859_456, "net/mul", ((2, 2), LAST)),
            (".", 450 * MIB, None, (FIRST, LAST)),
        ],
    )
    def test_the_request(self, rest: str, size: int, op: str | None, era: Era) -> None:
        found = read(START + rest)
        assert (found.allocator, found.op, found.era, found.start) == (
            "GPU_0_bfc",
            op,
            era,
            Line(1, START + rest),
        )
        assert found.size is not None and found.size.bytes == size

    def test_bytes_without_a_unit(self) -> None:
        text = START.replace("450.00MiB", "471859200")
        assert read(text).size == EXACT(471_859_200)

    def test_a_caller_that_does_not_mind_is_no_failure(self) -> None:
        text = START + " with freed_by_count=0. The caller indicates that this is not a failure"
        collector = collected(text)
        assert (collector.dump, collector.finished) == (None, [])
        assert collector.soft == [(parse_size("450.00MiB", 256), "GPU_0_bfc", Line(1, text))]

    def test_each_first_line_begins_a_dump(self) -> None:
        collector = collected(START, "InUse at 7f00 of size 256 next 1", START, MAP, "x")
        assert [len(each.sizes) for each in collector.finished] == [1, 0]
        assert collector.dump is None

    def test_other_heads(self) -> None:
        found = read("BFCAllocator dump for GPU_1_bfc")
        assert (found.allocator, found.start, found.era) == ("GPU_1_bfc", None, ((2, 1), LAST))
        assert read(START, "BFCAllocator dump for GPU_1_bfc").allocator == "GPU_0_bfc"
        want = "Bin for 12.0KiB was 8.0KiB, Chunk State: "
        assert read(want).size == EXACT(12 * KIB)
        assert read(START, want).size == parse_size("450.00MiB", 256)


class TestChunks:
    def test_in_the_order_of_addresses(self) -> None:
        found = read(
            START,
            "Next region of size 1024",
            "InUse at 7f00 of size 256 next 1",
            "Free  at 7f0000000100 of size 768 next 2",
            "Next region of size 512",
            "Chunk at 0x8000 of size 512",
        )
        assert (list(found.address), list(found.sizes)) == ([0x7F00, 0x7F0000000100, 0x8000], [256, 768, 512])
        assert (list(found.used), list(found.region), found.regions) == ([1, 0, 1], [0, 0, 1], [1024, 512])

    @pytest.mark.parametrize(
        "chunk, era",
        [
            ("Chunk at 0x10216400000 of size 1280", (FIRST, (1, 13))),
            ("InUse at 0x7f2c40000000 next 1 of size 1280", ((1, 14), (2, 0))),
            ("InUse at f00950000 of size 1280 next 1", ((2, 1), LAST)),
        ],
    )
    def test_the_first_tells_the_version(self, chunk: str, era: Era) -> None:
        assert read(chunk).era == era
        assert read(chunk, "InUse at f00950000 of size 1280 next 1").era == era

    def test_names_stand_beside_their_chunks(self) -> None:
        named = "InUse at 10 of size 256 by op net/mul action_count 3 step 4 next 1"
        plain = "InUse at 20 of size 256 next 1"
        assert read(plain, named, plain).ops == [None, "net/mul", None]
        assert read(plain).ops == []

    @pytest.mark.parametrize("size, taken", [((1 << 63) - 1, True), (1 << 63, False)])
    def test_no_chunk_has_2_to_the_63_bytes(self, size: int, taken: bool) -> None:
        assert DumpCollector().offer(Line(1, f"InUse at 10 of size {size} next 1")) is taken

    def test_the_largest_free_one_is_quoted(self) -> None:
        chunks = [f"Free at {at}0 of size {size} next 1" for at, size in enumerate((256, 1024, 512, 1024))]
        found = read("InUse at 90 of size 4096 next 1", *chunks)
        assert found.largest_free_line == Line(5, chunks[3])
        assert found._largest_free()[0] == EXACT(1024)

    def test_chunks_after_a_summary_are_of_another_dump(self) -> None:
        chunk, summary = "InUse at 10 of size 256 next 1", "1 Chunks of size 256 totalling 256B"
        collector = collected(chunk, summary, chunk)
        assert [len(each.sizes) for each in collector.finished] == [1]
        assert len(collected(summary, chunk).finished) == 0

    def test_free_chunks_of_the_bins(self) -> None:
        line = "  Size: {} | Requested Size: 1.0KiB | in_use: {}"
        found = read(line.format("6.0KiB", 0), line.format("9.0KiB", 1), line.format("8.0KiB", 0))
        assert [size.bytes for size, _ in found.bin_free] == [6 * KIB, 8 * KIB]
        assert found._largest_free() == (EXACT(8 * KIB), Line(3, line.format("8.0KiB", 0)))


class TestWhatIsStated:
    def test_statistics(self) -> None:
        found = read("Stats: ", "Limit:   1000", "InUse:   1.0KiB", "NumAllocs:  7", "MaxAllocSize: 9")
        assert {name: size.bytes for name, (size, _) in found.stats.items()} == {
            "Limit": 1000, "InUse": 1024, "NumAllocs": 7, "MaxAllocSize": 9,
        }  # fmt: skip
        assert found.ended_chunks and found.era == (FIRST, LAST)
        assert read("Stats: ", "Reserved:  7").era == ((2, 2), LAST)
        assert read("Stats: Limit:   1000").stats["Limit"][0] == EXACT(1000)
        assert collected("InUse:   1.0KiB").dump is None

    def test_statistics_without_a_head(self) -> None:
        assert read("Limit:                 22654317364").ended_chunks
        assert read("Limit:                 22654317364").stats["Limit"][0] == EXACT(22_654_317_364)
        assert collected("Limit:     123").dump is None  # too few digits to tell

    def test_sums(self) -> None:
        found = read("2 Chunks of size 512 totalling 1.0KiB", "Sum Total of in-use chunks: 9.28GiB")
        assert found.classes == [SizeClass(2, 512, Line(1, "2 Chunks of size 512 totalling 1.0KiB"))]
        assert found.ended_chunks and found.total is not None and found.total[0] == parse_size("9.28GiB")

    @pytest.mark.parametrize(
        "words, era",
        [
            ("total_region_allocated_bytes_: 300 memory_limit_: 900 available bytes: 0", ((1, 14), (2, 11))),
            ("Total bytes in pool: 300 memory_limit_: 900 available bytes: 0", ((2, 12), (2, 20))),
            ("Total size in pool: 300B memory_limit_: 900B available size: 0B", ((2, 21), LAST)),
        ],
    )
    def test_the_pool(self, words: str, era: Era) -> None:
        found = read(words)
        assert {name: size for name, (size, _) in found.figures.items()} == {
            "pool": EXACT(300),
            "limit": EXACT(900),
        }
        assert found.era == era

    def test_a_bin(self) -> None:
        text = (
            "Bin (256): \tTotal Chunks: 88, Chunks in use: 87. 22.0KiB allocated for chunks. 21.8KiB in use"
            " in bin. 3.0KiB client-requested in use in bin."
        )
        (entry,) = read(text).bins
        assert [each and each.bytes for each in entry] == [22 * KIB, 22_272, 3 * KIB]
        assert read(text.partition(" 3.0KiB")[0]).bins[0][2] is None

    def test_the_last_line_of_the_first_versions(self) -> None:
        ended = "Ran out of memory trying to allocate 144.00MiB.  See logs for memory state."
        found = read("Chunk at 0x10 of size 256", ended)
        assert found.size is not None and found.size.bytes == 144 * MIB
        assert (found.start, len(found.sizes), found.era) == (Line(2, ended), 1, (FIRST, (1, 1)))
        alone = read(ended)
        assert (alone.start, alone.era) == (Line(1, ended), (FIRST, (1, 1)))
        assert len(collected(START, MAP, ended).finished) == 2

    def test_lines_left_out(self) -> None:
        assert read(START, "...").collapsed == Line(2, "...")
        assert not DumpCollector().offer(Line(1, "..."))

    def test_a_map_ends_it(self) -> None:
        assert collected(START, MAP).dump is None
        assert collected(START, "<allocator contains no memory>").dump is None
        assert collected(START, "*" * 59).dump is not None

    def test_statistics_again_are_no_dump(self) -> None:
        stats = ("Stats: ", "Limit:   1000")
        assert len(collected(START, *stats, MAP, *stats, MAP).finished) == 1
        assert len(collected(START, *stats, MAP, "Stats: ", "Limit:   1001", MAP).finished) == 2
        assert len(collected(START, *stats, MAP, START, *stats, MAP).finished) == 2

    @pytest.mark.parametrize(
        "text",
        [
            "Summary of in-use Chunks by size: ",
            "Current allocation summary follows.",
            "Stats: ",
            MAP,
            START,
            START + " with freed_by_count=0. The caller indicates that this is not a failure",
            "Ran out of memory trying to allocate 144.00MiB.  See logs for memory state.",
            "Next region of size 1024",
            "gpu_async_0 cuMemAllocAsync failed to allocate 8192 bytes",
            "Reported by CUDA: Free memory/Total memory: 100/1000",
            "Histogram of current allocation: (x), ...;",
            "Limit:                 22654317364",
        ],
    )
    def test_lines_of_its_language_are_taken(self, text: str) -> None:
        assert DumpCollector().offer(Line(1, text))
        assert not DumpCollector().offer(Line(1, "step 3"))


class TestTheDriversPool:
    head = "gpu_async_0 cuMemAllocAsync failed to allocate 8192 bytes: CUDA error: out of memory"

    def test_it_has_a_histogram_and_figures(self) -> None:
        found = read(
            self.head,
            "Reported by CUDA: Free memory/Total memory: 100/1000",
            "Histogram of current allocation: (x), ...;",
            "256, 3",
            "CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: 700",
            "CU_MEMPOOL_ATTR_USED_MEM_CURRENT: 600",
            "CU_MEMPOOL_ATTR_USED_MEM_HIGH: 650",
            "512, 9",
        )
        assert (found.allocator, found.size, found.era) == ("gpu_async_0", EXACT(8192), ((2, 5), LAST))
        assert found.start == Line(1, self.head)
        assert [(each.count, each.size_bytes) for each in found.classes] == [(3, 256)]
        assert {name: size.bytes for name, (size, _) in found.figures.items()} == {"pool": 700, "used": 600}
        assert found.device_free is not None and found.device_free[:2] == (EXACT(100), EXACT(1000))
        assert read(self.head.removeprefix("gpu_async_0 ")).allocator == "cuda_malloc_async"

    def test_rows_without_their_head_are_none(self) -> None:
        assert not collected(self.head).offer(Line(2, "256, 3"))
        assert not DumpCollector().offer(Line(1, "CU_MEMPOOL_ATTR_USED_MEM_CURRENT: 600"))


def dump(*chunks: int, **given: Any) -> Dump:
    """Chunks of these sizes, the free ones negative."""
    return Dump(
        Line(1, ""),
        sizes=array("Q", map(abs, chunks)),
        used=bytearray(size > 0 for size in chunks),
        **given,
    )


def stated(**figures: int) -> dict[str, tuple[Size, Line]]:
    return {name: (EXACT(size), Line(9, name)) for name, size in figures.items()}


ENDED: dict[str, Any] = {"ended_chunks": True, "start": Line(1, "ran out")}
SMALL = EXACT(10), EXACT(6), EXACT(4)


class TestFigures:
    @pytest.mark.parametrize(
        "given, complete",
        [
            (ENDED, True),
            ({"ended_chunks": True}, False),
            ({"start": Line(1, "ran out")}, False),
            ({**ENDED, "collapsed": Line(2, "...")}, False),
            ({"stats": stated(InUse=768)}, True),
            ({**ENDED, "stats": stated(InUse=767)}, False),
            ({"total": (EXACT(768), Line(2, ""))}, True),
            ({**ENDED, "total": (EXACT(769), Line(2, ""))}, False),
        ],
    )
    def test_a_list_is_whole_where_its_sum_is_stated_or_nothing_speaks_against_it(
        self, given: dict[str, Any], complete: bool
    ) -> None:
        assert dump(256, 512, -1024, **given).complete is complete
        assert not dump(**given).complete

    def test_of_a_whole_list(self) -> None:
        state = dump(256, -1024, 512, -256, **ENDED).state()
        assert (state.in_use, state.pool, state.free) == (EXACT(768), EXACT(2048), EXACT(1280))
        assert (state.largest_free_chunk, state.free_chunks) == (EXACT(1024), 2)
        assert (state.limit, state.peak, state.allocations) == (None, None, None)
        full = dump(256, **ENDED).state()
        assert (full.largest_free_chunk, full.free_chunks) == (EXACT(0), 0)
        cut = dump(256, -1024).state()
        assert (cut.in_use, cut.pool, cut.free, cut.free_chunks) == (None, None, None, None)
        assert cut.largest_free_chunk == EXACT(1024)
        assert dump(256).state().largest_free_chunk is None

    def test_statistics_count_more_than_sums(self) -> None:
        stats = stated(Limit=9000, InUse=768, MaxInUse=800, NumAllocs=7, MaxAllocSize=512)
        state = dump(256, 512, -1024, stats=stats).state()
        assert (state.limit, state.in_use, state.peak) == (EXACT(9000), EXACT(768), EXACT(800))
        assert (state.allocations, state.largest_allocation) == (7, EXACT(512))
        assert state.line_of("in_use") == Line(9, "InUse")
        assert state.line_of("pool") is None

    def test_printed_figures_give_way_to_exact_ones(self) -> None:
        printed = {"Limit": (Size(1000, 990, 1010), Line(3, ""))}
        assert dump(stats=printed, figures=stated(limit=1004, pool=900)).state().limit == EXACT(1004)
        assert dump(stats=stated(Limit=1000), figures=stated(limit=1004)).state().limit == EXACT(1000)
        assert dump(stats=stated(Limit=0)).state().limit is None
        assert dump(figures=stated(used=70)).state().in_use == EXACT(70)
        assert dump(figures=stated(used=70), stats=stated(InUse=80)).state().in_use == EXACT(80)

    def test_in_use_by_sizes_or_by_the_total(self) -> None:
        classes = [SizeClass(2, 256), SizeClass(1, 512)]
        total = Size(1000, 900, 1100), Line(4, "Sum Total")
        assert dump(classes=classes, total=total).state().in_use == EXACT(1024)
        assert dump(classes=classes[:1], total=total).state().in_use == total[0]
        assert dump(total=total).state().in_use == total[0]
        assert dump(total=total).state().line_of("in_use") == total[1]
        assert dump(classes=classes).state().in_use is None

    def test_the_pool_by_regions(self) -> None:
        assert dump(256, regions=[512, 1024], **ENDED, total=(EXACT(1), Line(2, ""))).state().pool == EXACT(
            1536
        )
        assert dump(regions=[512], ended_chunks=True).state().pool is None
        assert dump(regions=[512], **ENDED, collapsed=Line(2, "")).state().pool is None
        assert dump(regions=[512], **ENDED, figures=stated(pool=77)).state().pool == EXACT(77)

    @pytest.mark.parametrize("bins, known", [(21, True), (20, False)])
    def test_all_bins_together(self, bins: int, known: bool) -> None:
        state = dump(bins=[SMALL] * bins).state()
        assert state.pool == (EXACT(210) if known else None)
        assert state.in_use == (EXACT(126) if known else None)
        assert state.requested_in_use == (EXACT(84) if known else None)

    def test_what_clients_asked_for_has_the_errors_of_both(self) -> None:
        loose = (EXACT(10), Size(6, 5, 7), Size(4, 4, 5))
        state = dump(bins=[SMALL] * 20 + [loose], stats=stated(InUse=126)).state()
        assert state.requested_in_use == Size(84, 126 - 43, 126 - 40)
        silent = dump(bins=[SMALL] * 20 + [(EXACT(10), EXACT(6), None)], stats=stated(InUse=126)).state()
        assert silent.requested_in_use is None

    @pytest.mark.parametrize(
        "figures, in_use, pool, limit",
        [
            ({}, 900, 1000, 1000),
            ({"pool": 700}, 900, 700, 800),  # 200 of the device are others'
            ({"pool": 700, "limit": 850}, None, 700, 800),
            ({"pool": 700, "limit": 800}, None, 700, 800),
            ({"pool": 700, "limit": 750}, None, 700, 750),
            ({"used": 600}, 600, 1000, 1000),
        ],
    )
    def test_of_the_whole_device(
        self, figures: dict[str, int], in_use: int | None, pool: int, limit: int
    ) -> None:
        free = EXACT(100), EXACT(1000), Line(3, "Free memory/Total memory")
        state = dump(figures=stated(**figures), device_free=free).state()
        assert [each and each.bytes for each in (state.in_use, state.pool, state.limit)] == [
            in_use,
            pool,
            limit,
        ]

    @pytest.mark.parametrize(
        "given, told",
        [
            ({}, False), (ENDED, False), ({"classes": [SizeClass(1, 1)]}, True), ({"bins": [SMALL]}, True),
            ({"bin_free": [(EXACT(1), Line(1, ""))]}, True), ({"figures": stated(pool=1)}, True),
            ({"stats": stated(Limit=1)}, True), ({"total": (EXACT(1), Line(1, ""))}, True),
        ],
    )  # fmt: skip
    def test_whether_it_says_more_than_the_request(self, given: dict[str, Any], told: bool) -> None:
        assert dump(**given).told is told
        assert dump(256).told

    def test_a_map_of_chunks(self) -> None:
        found = dump(256, -512, ops=["a", None], **ENDED).chunk_map()
        assert found is not None
        assert (list(found.in_use), found.op, found.complete, len(found)) == (
            [True, False],
            ["a", None],
            True,
            2,
        )
        nameless = dump(256, ops=[None]).chunk_map()
        assert nameless is not None and (nameless.op, nameless.complete) == ((), False)
        assert dump().chunk_map() is None


@pytest.mark.parametrize("text, size", [("12", 12), ("-12", -12), ("1.0KiB", 1024)])
def test_a_figure(text: str, size: int) -> None:
    assert figure(text).bytes == size


def test_a_live_model_has_the_chunks_in_use_of_the_dump_beside_it(tmp_path: Path) -> None:
    """What each was asked for stands in a binary dump alone."""
    shutil.copy(SAMPLES / "memory_dump" / "2.11-unet.pb", tmp_path / "bfc.1")
    (tmp_path / "model.json").write_text('{"tfmemlens_model": 1, "models": [], "variables": []}')
    capture = pipeline.capture(tmp_path)
    (incident,) = capture.incidents
    assert capture.live_model is not None and incident.state is not None and incident.state.in_use is not None
    chunks = capture.live_model.chunks
    assert {allocator for allocator, _, _ in chunks} == {incident.request.allocator}
    assert all(1024 <= asked <= size for _, asked, size in chunks)
    small = incident.state.in_use.bytes - sum(size for _, _, size in chunks)
    assert 0 <= small < 0.001 * incident.state.in_use.bytes


@pytest.mark.parametrize(
    ("told", "size"), [("129.1", None), ("129.1MiB.  Current", 135_371_264), ("512", 512)]
)
def test_a_figure_that_is_cut_before_its_unit_is_none(told: str, size: int | None) -> None:
    dump = collected(f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {told}").dump
    assert dump is not None and (dump.size.bytes if dump.size else None) == size
