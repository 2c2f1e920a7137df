"""Edges of what a part of a dump, stated weights and a library's message tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.findings.test_edges_of_support import at
from tests.findings.test_support import A, U, asked, case, exactly, held
from tfmemlens import pipeline
from tfmemlens.findings import convolution_workspace, cut_dump
from tfmemlens.findings.support.stated_weights import StatedWeights, stated_weights
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.attribution import Attribution, Owner, Phase
from tfmemlens.model.capture import SoftWarning, StatedSize, Surroundings
from tfmemlens.model.case import Balance, Moment
from tfmemlens.model.finding import Basis, Finding
from tfmemlens.model.incident import AllocatorState, ChunkMap, Incident, RequestKind, SizeClass
from tfmemlens.units import Size

MIB = 1 << 20


def dumped(
    need: int | None = None,
    chunks: tuple[tuple[int, int], ...] = (),
    books: Balance = Balance(),
    shape: tuple[int, ...] | None = None,
    classes: bool = True,
    whole: bool = False,
    named: bool = False,
    **state: Any,
) -> Moment:
    """A failure with these figures of the allocator, and chunks of (bytes, count)."""
    facts = {key: state.pop(key) for key in ("allocator", "kind", "device") if key in state}
    sizes = {key: exactly(each) if isinstance(each, int) else each for key, each in state.items()}
    request = asked(size=need, shape=shape, **facts)
    rows = [Allocation("a/x" if named else None, size, count=count, line=at(9)) for size, count in chunks]
    table = AllocationTable.of(rows)
    owners = [Owner(None, A if named else U, Phase.NONE) for _ in rows]
    incident = Incident(
        request.failed,
        state=AllocatorState(lines=(("in_use", at(3)), ("limit", at(4))), **sizes),
        chunks=ChunkMap() if whole else None,
        size_classes=(SizeClass(1, 5),) if classes else (),
    )
    return Moment(Attribution(table, owners), books, request=request, incident=incident)


def told(moment: Moment) -> list[Finding]:
    return list(cut_dump.check(case(moment)))


def slugs(found: list[Finding]) -> list[str]:
    return [str(remedy.slug) for each in found for remedy in each.remedies]


@pytest.mark.parametrize(
    "more, fires",
    [
        ({}, True),
        ({"classes": False}, False),
        ({"classes": False, "whole": True}, True),
        ({"pool": 99}, False),
        ({"limit": 99 * MIB}, False),
        ({"need": 5}, False),
        ({"named": True}, False),
        ({"books": Balance(missing=5)}, False),
        ({"kind": RequestKind.PROFILE}, False),
        ({"chunks": ()}, False),
    ],
    ids=str,
)
def test_chunks_alone_are_what_is_left_of_a_dump(more: Any, fires: bool) -> None:
    found = told(dumped(**{"chunks": ((70 * MIB, 3), (200 * MIB, 1)), **more}))
    assert bool(found) is fires
    if fires:
        assert found[0].because == "3 blocks of 70.00 MiB hold 210.00 MiB, 51 % of the blocks that are here"
        assert (found[0].explains, found[0].basis) == (210 * MIB, Basis.MEASURED)


def test_one_large_chunk_is_no_many() -> None:
    (found,) = told(dumped(chunks=((70 * MIB, 2), (200 * MIB, 1))))
    assert found.because == "one block of 200.00 MiB is 59 % of the blocks that are here"
    assert not told(held(request=asked())) and not told(held())


def test_only_the_first_failure_is_of_a_cut_dump() -> None:
    moment = dumped(chunks=((7 * MIB, 2),))
    assert len(list(cut_dump.check(case(moment, moment)))) == 1


TINY = 37 * MIB + 5


@pytest.mark.parametrize(
    "more, tiny",
    [
        ({}, True),
        ({"limit": 37 * MIB}, False),  # a round number that somebody set
        ({"limit": 0}, False),
        ({"limit": Size(TINY, TINY - 5, TINY)}, False),
        ({"allocator": "GPU_0_bfc"}, True),
        ({"allocator": "gpu_host_bfc"}, False),
        ({"allocator": "GPU_host_bfc"}, False),
        ({"allocator": "mine"}, False),
        ({"kind": RequestKind.HOST}, False),
        ({"named": True, "chunks": ((5, 1),)}, False),
    ],
    ids=str,
)
def test_a_pool_smaller_than_any_gpu(more: Any, tiny: bool) -> None:
    found = told(dumped(**{"limit": TINY, **more}))
    likely = [each for each in found if "most likely another process held nearly all of it" in each.because]
    assert bool(likely) is tiny and all(each.explains == TINY for each in likely)


@pytest.mark.parametrize(
    "need, used, more, words, explains, offered",
    [
        (30, 985, {}, "the pool was full, with", 985, "smaller-batch"),
        (30, 985, {"peak": 1014}, "the pool was full, with", 985, "smaller-batch"),
        (30, 985, {"peak": 1015}, "the pool was nearly full, with", 985, "smaller-batch"),
        (30, 901, {"peak": 1000}, "the pool was nearly full, with", 99, "smaller-batch"),
        (30, 900, {"peak": 1000}, "was free now, in pieces of less than 30.00 MiB", 100, "shape"),
        (30, 500, {}, "500.00 MiB of the 1000.00 MiB limit was not in use", 500, "see-device-users"),
        (None, 985, {}, "so any request above 15.00 MiB fails", 985, "smaller-batch"),
        (None, 1000, {}, "so any request above 0 B fails", 1000, "smaller-batch"),
        (None, 500, {}, "only 50 % of the limit was in use", 500, "see-device-users"),
    ],
)  # fmt: skip
def test_what_the_allocators_statistics_tell(
    need: int | None, used: int, more: Any, words: str, explains: int, offered: str
) -> None:
    sizes = {key: value * MIB for key, value in more.items()}
    found = told(dumped(need and need * MIB, limit=1000 * MIB, in_use=used * MIB, **sizes))
    assert len(found) == 1 and words in found[0].because and found[0].explains == explains * MIB
    assert any(offered in slug for slug in slugs(found))
    assert len(found[0].evidence) == 1
    (other,) = told(
        dumped(need and need * MIB, limit=1000 * MIB, in_use=used * MIB, largest_allocation=9 * MIB, **sizes)
    )
    assert [each.fact for each in other.evidence][1:] == ["the largest allocation so far: 9.00 MiB"]


@pytest.mark.parametrize(
    "more, idle",
    [
        ({}, True),
        ({"in_use": 21 * MIB}, False),
        ({"need": 5}, False),
        ({"allocator": "gpu_host_bfc"}, False),
        ({"device": "/device:TPU:0"}, False),
        ({"device": "/device:CPU:0"}, False),
        ({"in_use": 0}, True),
    ],
    ids=str,
)
def test_a_pool_of_which_nothing_was_in_use(more: Any, idle: bool) -> None:
    found = told(dumped(**{"limit": 1000 * MIB, "in_use": 5 * MIB, **more}))
    said = [each for each in found if each.because.startswith("next to nothing was in use")]
    assert bool(said) is idle and all(each.explains == 1000 * MIB for each in said)


def test_the_largest_free_block_stands_with_what_was_free() -> None:
    moment = dumped(5 * MIB, limit=1000 * MIB, in_use=900 * MIB, peak=990 * MIB, largest_free_chunk=4 * MIB)
    assert told(moment)[0].because.endswith("each; the largest free block listed is 4.00 MiB")


# ------------------------------------------------------------------ stated weights


@pytest.mark.parametrize(
    "name, sizes, count",
    [
        ("params", (50_000_000,), 50_000_000),
        ("params", (49_999_999,), None),
        ("Model", (7 * 10**9,), 7 * 10**9),
        ("params", (50_000_000, 2), None),
        ("rows", (50_000_000,), None),
    ],
)
def test_weights_that_the_text_states(name: str, sizes: Any, count: int | None) -> None:
    found = stated_weights(Surroundings(sizes=(StatedSize(name, sizes, at(2)),)))
    assert (found and (found.count, found.exact)) == (None if count is None else (count, False))


@pytest.mark.parametrize(
    "total, count, exact",
    [(50_000_000, 50_000_000, True), (49_999_999, 90_000_000, False), (None, 90_000_000, False)],
)
def test_a_summarys_total_is_exact(total: int | None, count: int, exact: bool) -> None:
    sizes = tuple(StatedSize("params", (each,), at(2)) for each in (60_000_000, 90_000_000, 70_000_000))
    found = stated_weights(Surroundings(sizes=sizes, parameters=None if total is None else (total, at(3))))
    assert found is not None and (found.count, found.exact) == (count, exact)


@pytest.mark.parametrize(
    "count, exact, text",
    [
        (10**9, False, "about 1 billion weights"),
        (10**9 - 10**6, False, "about 999 million weights"),
        (2_500_000_000, False, "about 2.5 billion weights"),
        (2_506_172_416, True, "2,506,172,416 weights"),
    ],
)
def test_weights_in_words(count: int, exact: bool, text: str) -> None:
    found = StatedWeights(count, exact, at(1))
    assert (found.text, found.bytes, found.trained_bytes) == (text, 4 * count, 16 * count)


# ------------------------------------------------------------------ CUDA's libraries


def workspace(said: str, **facts: Any) -> Finding | None:
    request = asked(kind=RequestKind.WORKSPACE, line=at(5, said), **facts)
    moment = held(request=request, incident=Incident(request.failed, tellings=(at(5, said),)))
    return next(iter(convolution_workspace.check(case(moment))), None)


@pytest.mark.parametrize(
    "said, headline",
    [
        ("CUDNN_STATUS_ALLOC_FAILED", "cuDNN found no memory for its workspace:"),
        ("could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED", "cuDNN found no memory for its handle:"),
        (
            "failed to create cublas handle: the resource allocation failed",
            "most likely cuBLAS found no memory for its handle:",
        ),
        (
            "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED",
            "cuBLAS found no memory for its handle:",
        ),
    ],
)
def test_which_library_found_no_memory_for_what(said: str, headline: str) -> None:
    found = workspace(said)
    assert found is not None and found.headline.startswith(headline)
    assert (found.detail == "") is ("handle" in headline)
    assert ("cudnn-workspace-limit" in slugs([found])) is ("workspace" in headline)


def test_another_failure_is_no_librarys() -> None:
    request = asked(line=at(5))
    moment = held(request=request, incident=Incident(request.failed))
    assert not list(convolution_workspace.check(case(moment)))


def test_the_largest_warning_before_it_is_shown() -> None:
    request = asked(kind=RequestKind.WORKSPACE, line=at(5, "No algorithm worked!"))
    moment = held(request=request, incident=Incident(request.failed))
    warnings = tuple(
        SoftWarning(exactly(size), "GPU_0_bfc", at(line)) for size, line in ((5, 1), (9, 2), (7, 3))
    )
    (found,) = convolution_workspace.check(case(moment, soft_warnings=warnings))
    assert [each.line.number for each in found.evidence if each.line] == [5, 2]


ALIKE = (
    "I bfc_allocator.cc:641] 1 Chunks of size 160000000 totalling 152.59MiB\n"
    "I bfc_allocator.cc:641] 3 Chunks of size 160120832 totalling 458.11MiB\n"
    "I bfc_allocator.cc:641] 1 Chunks of size 160240640 totalling 152.82MiB\n"
)


def test_blocks_that_differ_are_told_from_least_to_largest() -> None:
    verdict = pipeline.explain(ALIKE).verdict
    assert "5 blocks of 152.59 MiB to 152.82 MiB" in verdict


def test_a_server_has_no_copies_of_a_weight() -> None:
    served = pipeline.explain("docker run tensorflow/serving:1.12.0-gpu\n" + ALIKE)
    assert "one large weight" not in served.verdict
    assert "one large weight" in pipeline.explain(ALIKE).verdict
