"""The books of a failure, by hand: every sum of them, and what no input says."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.attribution.moments.balance import balance, chunk_sizes, holders, rounded_request
from tfmemlens.attribution.moments.omissions import omissions
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.case import Balance
from tfmemlens.model.incident import (
    AllocatorState,
    ChunkMap,
    CompilerMemory,
    FailedRequest,
    HolderBlock,
    Incident,
    RequestKind,
    SizeClass,
)
from tfmemlens.model.line import Line
from tfmemlens.units import Size

EXACT = Size.exactly
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
NAMED = FailedRequest(allocator="GPU_0_bfc", device=GPU)


def block(*rows: Allocation, allocator: str | None = "GPU_0_bfc", **rest: Any) -> HolderBlock:
    return HolderBlock(GPU, allocator, AllocationTable.of(rows), **rest)


def incident(*blocks: HolderBlock, request: FailedRequest = NAMED, **given: Any) -> Incident:
    return Incident(request, holders=blocks, **given)


def books(*blocks: HolderBlock, requested: int | None = None, **given: Any) -> Balance:
    found = incident(*blocks, **given)
    return balance(found, holders(found), requested)


def state(**figures: int) -> AllocatorState:
    sizes: Any = {name: EXACT(figure) for name, figure in figures.items()}
    return AllocatorState(**sizes)


def chunks(*sizes: tuple[int, bool], ops: tuple[str | None, ...] = (), complete: bool = True) -> ChunkMap:
    return ChunkMap(
        size_bytes=[size for size, _ in sizes], in_use=[used for _, used in sizes], op=ops, complete=complete
    )


class TestRows:
    def test_a_report_with_what_it_leaves_out(self) -> None:
        left_out = block(
            Allocation("a", 100), unlisted_nodes=3, unlisted=Size(50, 45, 57), tail=Line(9, "Remaining")
        )
        table = holders(incident(left_out, block(Allocation("b", 7), unlisted=Size(5, 5, 5))))
        assert [(row.node, row.size_bytes, row.error_bytes, row.purpose) for row in table] == [
            ("a", 100, 0, None), ("b", 7, 0, None), (None, 50, 7, "unlisted"),
        ]  # fmt: skip
        assert (table[2].device, table[2].allocator, table[2].line) == (
            GPU,
            "GPU_0_bfc",
            Line(9, "Remaining"),
        )

    @pytest.mark.parametrize(
        "size, error, sharp",
        [
            (1000, 24, (1024, 0)),
            (1000, 23, (1000, 23)),  # no chunk is so near
            (1000, 300, (1000, 300)),  # two are
            (1024, 0, (1024, 0)),
            (900, 124, (1024, 0)),
            (1280, 0, (1280, 0)),
        ],
    )
    def test_a_printed_figure_is_the_one_chunk_that_it_can_be(
        self, size: int, error: int, sharp: tuple[int, int]
    ) -> None:
        known = (SizeClass(2, 1024), SizeClass(1, 1280), SizeClass(1, 5120))
        found = incident(block(Allocation("a", size, error_bytes=error)), size_classes=known)
        row = holders(found)[0]
        assert (row.size_bytes, row.error_bytes) == sharp

    def test_without_chunks_it_stays_as_printed(self) -> None:
        assert holders(incident(block(Allocation("a", 1000, error_bytes=24))))[0].size_bytes == 1000

    def test_chunks_by_size_stand_in_the_largest_sums_first(self) -> None:
        line = Line(4, "2 Chunks")
        found = incident(size_classes=(SizeClass(3, 256), SizeClass(1, 1024, line), SizeClass(5, 256 * 4)))
        assert chunk_sizes(incident(size_classes=(SizeClass(3, 256),))) == {256: 3}
        assert [(row.size_bytes, row.count) for row in holders(found)] == [(1024, 5), (256, 3)]
        assert holders(incident(size_classes=(SizeClass(1, 1024, line),)))[0].line == line

    def test_many_small_chunks_stand_before_few_large_ones(self) -> None:
        found = incident(size_classes=(SizeClass(1, 1000), SizeClass(3, 400), SizeClass(2, 300)))
        assert [(row.size_bytes, row.count) for row in holders(found)] == [(400, 3), (1000, 1), (300, 2)]

    def test_chunks_in_use_stand_in_with_their_names(self) -> None:
        plain = chunks((512, True), (256, False), (512, True), (256, True))
        assert chunk_sizes(incident(chunks=plain)) == {512: 2, 256: 1}
        assert chunk_sizes(incident()) == {}
        assert [(row.node, row.size_bytes, row.count) for row in holders(incident(chunks=plain))] == [
            (None, 512, 2), (None, 256, 1),
        ]  # fmt: skip
        named = chunks((512, True), (256, False), (512, True), ops=("x", "y", "x"))
        assert [(row.node, row.size_bytes, row.count) for row in holders(incident(chunks=named))] == [
            ("x", 512, 2)
        ]

    def test_a_report_counts_more_than_chunks(self) -> None:
        found = incident(block(Allocation("a", 7)), chunks=chunks((512, True)))
        assert [row.node for row in holders(found)] == ["a"]


class TestSums:
    def test_what_is_listed_has_the_errors_of_its_figures(self) -> None:
        found = books(
            block(
                Allocation("a", 100, error_bytes=3, count=4), Allocation("b", 11),
                unlisted_nodes=2, unlisted=Size(50, 45, 57),
            ),
            block(unlisted_nodes=5, unlisted=EXACT(1)),
        )  # fmt: skip
        assert found.listed == Size(411, 399, 423)
        assert (found.unlisted, found.unlisted_nodes) == (Size(51, 46, 58), 7)

    def test_an_error_larger_than_the_figure_leaves_nothing_below_zero(self) -> None:
        assert books(block(Allocation("a", 5, error_bytes=9))).listed == Size(5, 0, 14)

    def test_chunks_are_not_a_list(self) -> None:
        assert books(chunks=chunks((512, True))).listed == EXACT(0)

    def test_pool_and_limit(self) -> None:
        found = books(state=state(limit=1000, pool=600, in_use=500, requested_in_use=430, free=100))
        assert found.growable == EXACT(400)
        assert found.waste == EXACT(70)
        assert books(state=state(limit=1000)).growable is None
        assert books(state=state(pool=600)).growable is None
        assert books(state=state(limit=500, pool=600)).growable == EXACT(0)
        assert books(state=state(in_use=500)).waste is None
        assert books(state=state(requested_in_use=500)).waste is None

    def test_intervals_of_differences(self) -> None:
        given = AllocatorState(in_use=Size(500, 490, 510), requested_in_use=Size(430, 420, 495))
        assert books(state=given).waste == Size(70, 0, 90)

    @pytest.mark.parametrize("requested, missing", [(499, 0), (500, 0), (501, 1), (900, 400), (None, None)])
    def test_what_is_missing_is_more_than_all_that_could_be_had(
        self, requested: int | None, missing: int | None
    ) -> None:
        found = books(state=state(limit=1000, pool=600, in_use=500, free=100), requested=requested)
        assert (found.requested, found.missing, found.room) == (requested, missing, None)

    def test_a_pool_that_cannot_grow_has_what_is_free(self) -> None:
        assert books(state=state(free=100), requested=130).missing == 30

    @pytest.mark.parametrize("requested, room", [(400, None), (401, 400), (None, None)])
    def test_statistics_alone_tell_when_even_the_limit_is_too_little(
        self, requested: int | None, room: int | None
    ) -> None:
        found = books(state=state(limit=1000, in_use=600), requested=requested)
        assert found.room == (None if room is None else EXACT(room))
        assert found.missing == (None if room is None else 1)

    @pytest.mark.parametrize(
        "known", [{"limit": 1000}, {"in_use": 600}, {"limit": 1000, "in_use": 600, "pool": 800}]
    )
    def test_with_less_nothing_is_said_of_room(self, known: dict[str, int]) -> None:
        assert books(state=state(**known), requested=10**6).room is None

    def test_what_is_in_use_outside_the_report(self) -> None:
        rows = block(Allocation("a", 100, error_bytes=2), unlisted_nodes=1, unlisted=EXACT(50))
        assert books(rows, state=state(in_use=400)).outside_report == Size(250, 248, 252)
        assert books(rows, state=state(in_use=120)).outside_report == EXACT(0)
        assert books(rows).outside_report is None
        assert books(state=state(in_use=400)).outside_report is None
        assert books(rows, state=state(in_use=400), compiler=CompilerMemory()).outside_report is None

    @pytest.mark.parametrize(
        "allocator, asked, known",
        [
            ("GPU_0_bfc", "GPU_0_bfc", True),
            (None, "GPU_0_bfc", True),
            ("cpu", "GPU_0_bfc", False),
            ("cpu", None, True),
        ],
    )
    def test_only_of_the_allocator_that_failed(
        self, allocator: str | None, asked: str | None, known: bool
    ) -> None:
        rows = block(Allocation("a", 100), allocator=allocator)
        found = books(rows, request=FailedRequest(allocator=asked), state=state(in_use=400))
        assert (found.outside_report is not None) is known


@pytest.mark.parametrize(
    "given, asked",
    [
        ({"size": EXACT(700), "shape": (300,), "dtype": "float32"}, 700),
        ({"size": Size(700, 690, 710)}, 700),
        ({"size": Size(700, 690, 710), "shape": (300,), "dtype": "float32", "allocator": "GPU_0_bfc"}, 1280),
        ({"size": Size(700, 690, 710), "shape": (300,), "dtype": "float32", "allocator": "cpu"}, None),
        ({"shape": (300,), "dtype": "float32"}, 1280),
        ({"shape": (300,), "dtype": "float32", "device": GPU}, 1280),
        ({"shape": (300,), "dtype": "float32", "device": "/device:CPU:0"}, None),
        ({"shape": (300,), "dtype": "float32", "device": "/device:CPU:0", "allocator": "mklcpu_BFC"}, 1280),
        ({"shape": (300,), "dtype": "float32", "allocator": "cpu"}, None),
        ({"shape": (300,)}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_what_the_allocator_was_asked_for(given: dict[str, Any], asked: int | None) -> None:
    """300 floats are 1200 bytes, which BFC rounds up to 1280."""
    assert rounded_request(Incident(FailedRequest(**given))) == asked


class TestOmissions:
    """Which sentences stand under the figures of a failure."""

    @staticmethod
    def said(found: Incident, **given: Any) -> list[str]:
        starts = {
            "The list covers": "report",
            "Here": "outside",
            "TensorFlow rounds": "rounded",
            "The list was cut": "cut",
            "Some blocks": "other allocator",
            "The dump has": "chunks",
            "Part of the chunk": "incomplete",
            "The list of sizes": "sizes cut",
            "A MemoryDump": "memory dump",
            "No `Stats:`": "no stats",
            "A profile": "profile",
            "It knows no": "no limit",
            "This is one": "program",
            "These figures have no order": "no order",
            "The first, largest": "buffers cut",
            "XLA lists": "largest",
            "This message": "no list",
        }
        return [
            next(short for start, short in starts.items() if text.startswith(start))
            for text in omissions(found, Balance(**given))
        ]

    limit = EXACT(1000)

    def test_of_a_report(self) -> None:
        rows = block(Allocation("a", 100))
        assert self.said(incident(rows), limit=self.limit) == ["report"]
        assert self.said(incident(rows)) == ["report", "no stats"]
        full = {"limit": self.limit, "outside_report": EXACT(7), "listed": Size(9, 8, 10)}
        assert self.said(incident(rows), **full) == ["report", "outside", "rounded"]
        assert self.said(incident(rows), limit=self.limit, outside_report=EXACT(0)) == ["report"]
        assert self.said(incident(rows), limit=self.limit, listed=Size(0, 0, 1)) == ["report"]
        assert self.said(incident(rows, block(cut=True)), limit=self.limit) == ["report", "cut"]

    @pytest.mark.parametrize(
        "allocator, asked, other",
        [("cpu", "GPU_0_bfc", True), (None, "GPU_0_bfc", False), ("cpu", None, False)],
    )
    def test_of_another_allocator(self, allocator: str | None, asked: str | None, other: bool) -> None:
        found = incident(block(allocator=allocator), request=FailedRequest(allocator=asked))
        assert ("other allocator" in self.said(found)) is other

    def test_of_chunks(self) -> None:
        assert self.said(incident(chunks=chunks((512, True))), limit=self.limit) == ["chunks"]
        cut = incident(chunks=chunks((512, True), complete=False))
        assert self.said(cut, limit=self.limit) == ["chunks", "incomplete"]
        assert self.said(incident(size_classes=(SizeClass(1, 9),)), limit=self.limit) == ["chunks"]
        assert self.said(incident(), limit=self.limit) == []

    @pytest.mark.parametrize("in_use, cut", [(1000, False), (1001, True)])
    def test_sizes_that_cover_less_than_nine_tenths(self, in_use: int, cut: bool) -> None:
        found = incident(size_classes=(SizeClass(9, 100),), state=state(in_use=in_use))
        assert self.said(found, limit=self.limit) == ["chunks", *(["sizes cut"] if cut else [])]
        listed = incident(block(), size_classes=(SizeClass(9, 100),), state=state(in_use=in_use))
        assert self.said(listed, limit=self.limit) == ["report"]

    def test_a_memory_dump_has_no_request_and_no_limit(self) -> None:
        dump = FailedRequest(RequestKind.DUMP)
        found = incident(request=dump, chunks=chunks((512, True)))
        assert self.said(found) == ["chunks", "memory dump"]
        assert self.said(incident(request=dump)) == ["no stats"]
        logged = FailedRequest(RequestKind.DUMP, line=Line(1, "ran out"))
        assert self.said(incident(request=logged, chunks=chunks((512, True)))) == ["chunks", "no stats"]

    @pytest.mark.parametrize("kind", RequestKind)
    def test_of_a_failure_alone(self, kind: RequestKind) -> None:
        expected = {
            RequestKind.PROFILE: ["profile", "no limit"],
            RequestKind.TENSOR: ["no stats"],
            RequestKind.DUMP: ["no stats"],
        }
        assert self.said(incident(request=FailedRequest(kind))) == expected.get(kind, [])

    def test_of_a_compiler(self) -> None:
        xla, program = FailedRequest(RequestKind.XLA), FailedRequest(RequestKind.PROGRAM)
        plain, cut = CompilerMemory(needed=EXACT(1)), CompilerMemory(needed=EXACT(1), cut=True)
        assert self.said(incident(request=program, compiler=cut)) == ["program", "no order"]
        assert self.said(incident(request=xla, compiler=cut)) == ["buffers cut"]
        assert self.said(incident(block(), request=xla, compiler=plain)) == ["largest"]
        assert self.said(incident(request=xla, compiler=plain)) == ["no list"]
        assert self.said(incident(compiler=plain)) == ["no list"]
