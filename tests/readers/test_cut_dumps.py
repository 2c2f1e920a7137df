"""Parts of a dump: statistics alone, chunks alone, the head with its bins."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.finding import Finding
from tfmemlens.renderers.terminal import _balance, _screen
from tfmemlens.renderers.view import View
from tfmemlens.units import GIB, MIB

VIEW = View(width=80)

START = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 512.00MiB (rounded to 536870912)"


def stats(limit: int, in_use: int, *, largest: int = 0) -> str:
    more = f"MaxAllocSize: {largest}\n" if largest else ""
    return f"Stats: \nLimit: {limit}\nInUse: {in_use}\nMaxInUse: {in_use}\nNumAllocs: 12\n{more}"


def cut(text: str) -> Finding | None:
    findings = pipeline.explain(text).findings
    return next((finding for finding in findings if finding.rule == "cut-dump"), None)


@pytest.mark.parametrize(
    ("in_use", "words"),
    [
        (8 * GIB - 10 * MIB, "any request above 10.00 MiB fails"),
        (2 * GIB, "only 25 % of the limit was in use"),
    ],
)
def test_statistics_alone_tell_a_full_pool_from_one_that_was_refused(in_use: int, words: str) -> None:
    found = cut(stats(8 * GIB, in_use))
    assert found is not None and words in found.headline


def test_a_request_that_the_limit_had_room_for_lay_in_pieces_or_was_refused() -> None:
    found = cut(f"{START}requested by op a/b\n{stats(8 * GIB, 6 * GIB)}")
    assert found is not None
    assert found.headline.startswith("2.00 GiB of the 8.00 GiB limit was not in use")
    assert not any("batch" in remedy.text for remedy in found.remedies)


def test_of_a_pool_that_is_mostly_full_its_use_comes_before_its_pieces() -> None:
    found = cut(f"{START}requested by op a/b\n{stats(8 * GIB, 7 * GIB)}")
    assert found is not None
    assert found.headline == "7.00 GiB of 8.00 GiB was in use, and no free block had room for 512.00 MiB"
    assert not any("nvidia-smi" in (remedy.code or "") for remedy in found.remedies)


def test_a_request_beyond_what_the_limit_leaves_is_a_shortage() -> None:
    report = pipeline.explain(f"{START}requested by op a/b\n{stats(8 * GIB, 8 * GIB - 100 * MIB)}")
    assert report.findings[0].rule == "memory-shortage"
    assert "cut-dump" not in {finding.rule for finding in report.findings}


def test_the_largest_allocation_so_far_is_evidence() -> None:
    found = cut(stats(8 * GIB, 8 * GIB - MIB, largest=2 * GIB))
    assert found is not None
    assert [proof.fact for proof in found.evidence][1] == "the largest allocation so far: 2.00 GiB"


CHUNKS = (
    "InUse at 7f21d4e00000 of size 154140672 next 411\nInUse at 7f21de100000 of size 154140672 next 412\n"
    "Summary of in-use Chunks by size:\n4 Chunks of size 256 totalling 1.0KiB\n"
    "12 Chunks of size 154140672 totalling 1.72GiB\n"
)


def test_chunks_alone_name_the_size_that_holds_most() -> None:
    found = cut(CHUNKS)
    assert found is not None
    assert found.headline.startswith("12 blocks of 147.00 MiB hold 1.72 GiB")


def two_blocks(size: int, free: int) -> str:
    lines = [("Chunk", size), ("Free ", free), ("Chunk", size)]
    at, text = 0x7F0000000000, ""
    for state, length in lines:
        text += f"tensorflow/core/common_runtime/bfc_allocator.cc:668] {state} at {at:#x} of size {length}\n"
        at += length
    return text


@pytest.mark.parametrize(
    ("size", "free", "vgg", "hole"),
    [
        (25_088 * 4096 * 4, 90 * MIB, True, True),
        (25_088 * 4096 * 4, 500 * MIB, True, False),  # one more has room
        (25_088 * 4096 * 4, MIB, True, False),  # too small to be worth a word
        (400 * MIB, 90 * MIB, False, True),
    ],
)
def test_what_blocks_of_a_part_are_and_whether_another_has_room(
    size: int, free: int, vgg: bool, hole: bool
) -> None:
    found = cut(two_blocks(size, free))
    assert found is not None
    assert ("VGG's first dense layer" in found.because) is vgg
    assert ("has no room for another" in found.because) is hole
    assert any(remedy.slug == "other-backbone" for remedy in found.remedies) is vgg


def test_a_request_as_large_as_a_layer_that_many_use() -> None:
    asked = "Allocator (GPU_0_bfc) ran out of memory trying to allocate {}MiB.  Current allocation summary"
    known, unknown = cut(asked.format("392.00")), cut(asked.format("393.00"))
    assert known is not None and "VGG's first dense layer" in known.because
    assert unknown is not None and "VGG" not in unknown.because


def test_a_list_with_names_is_no_cut_dump() -> None:
    assert cut(f"{CHUNKS}  1.00GiB from net/a/Relu\n  500.00MiB from net/b/Relu\n") is None


def bins(count: int) -> str:
    lines = [
        f"Bin ({256 << index}): \tTotal Chunks: 0, Chunks in use: 0. 0B allocated for chunks. 0B in use"
        f" in bin."
        " 0B client-requested in use in bin."
        for index in range(count - 1)
    ]
    last = (
        "Bin (268435456): \tTotal Chunks: 5, Chunks in use: 4. 3.00GiB allocated for chunks. 2.75GiB in"
        " use in"
        " bin. 2.50GiB client-requested in use in bin."
    )
    return "\n".join([START + ".  Current allocation summary follows.", *lines, last, ""])


def test_all_bins_of_a_head_say_what_is_free() -> None:
    (moment,) = pipeline.explain(bins(21)).case.moments
    assert moment.balance.free is not None and moment.balance.free.may_be(256 * MIB)
    assert moment.balance.missing is not None and abs(moment.balance.missing - 256 * MIB) < 16 * MIB


def test_some_of_the_bins_say_nothing_of_the_pool() -> None:
    (moment,) = pipeline.explain(bins(20)).case.moments
    assert moment.balance.free is None


BROKEN = {
    "a TPU's sentence between words": (
        "Ran out of memory in memory space hbm.\nUsed 41.74G of 16.00G\nhbm.\nExceeded hbm capacity by"
        " 25.74G."
    ),
    "TensorFlow's without its blanks": (
        "OOM when allocating tensor with shape[64,112,112,64]and\n  type float on\n"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator\n GPU_0_bfc"
    ),
    "escaped twice": (
        "OOM when allocating tensor with shape&amp;#91;64,112,112,64&amp;#93; and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    ),
    "glued": (
        "OOM when allocating tensor with shape[64,112,112,64] and type float"
        " on/job:localhost/replica:0/task:0/"
        "device:GPU:0by allocatorGPU_0_bfc"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_sentence_that_was_broken_is_whole_again(name: str) -> None:
    (incident,) = pipeline.explain(BROKEN[name] + "\n").case.capture.incidents
    request = incident.request
    if name.startswith("a TPU"):
        assert incident.compiler is not None and incident.compiler.excess is not None
        assert incident.compiler.excess.may_be(int(25.74 * GIB))
        return
    assert (request.shape, request.dtype, request.allocator) == ((64, 112, 112, 64), "float32", "GPU_0_bfc")
    assert request.device == "/job:localhost/replica:0/task:0/device:GPU:0"


def blocks(*sizes: tuple[int, int]) -> str:
    """Lines of a summary, of so many blocks of each size in MiB."""
    return "".join(
        f"{count} Chunks of size {size} totalling {count * size / GIB:.2f}GiB\n" for count, size in sizes
    )


def test_blocks_that_differ_by_what_the_allocator_adds_are_of_one_size() -> None:
    large = 256 * MIB
    found = cut(blocks((3, large), (2, large + 1024), (1, 40 * MIB)))
    assert found is not None
    assert found.because.startswith("5 blocks of 256.00 MiB hold 1.25 GiB, 97 % of the blocks that are here")
    assert "one large weight with its copies" in found.because
    assert "67,108,864 numbers" in found.remedies[0].text and len(found.evidence) == 2
    other = cut(blocks((3, large), (2, large + 2 * MIB), (1, 40 * MIB)))
    assert other is not None and other.because.startswith("3 blocks of 256.00 MiB hold 768.00 MiB")


def test_blocks_of_every_stage_are_no_copies_of_a_weight() -> None:
    found = cut(blocks((4, 256 * MIB), (4, 128 * MIB), (8, 64 * MIB)))
    assert found is not None and "copies" not in found.because
    many = cut(blocks((40, 256 * MIB)))
    assert many is not None and "copies" not in many.because


BIN = (
    "Bin ({low}): \tTotal Chunks: {all}, Chunks in use: {used}. {size} allocated for chunks. {held} in use in"
    " bin. {held} client-requested in use in bin.\n"
)
WANTED = (
    "Bin for 2.40GiB was 256.00MiB, Chunk State: \n"
    "  Size: {free} | Requested Size: 1.0KiB | in_use: 0, prev:   Size: 3.0KiB | Requested Size: 3.0KiB |"
    " in_use: 1\n"
)


def last_bin(used: int, held: str) -> str:
    return BIN.format(low=1 << 28, all=used + 1, used=used, size="4.50GiB", held=held)


def test_a_free_block_just_short_of_the_request_is_said_with_what_large_blocks_hold() -> None:
    text = last_bin(1, "2.20GiB") + WANTED.format(free="2.30GiB")
    verdict = pipeline.explain(text).verdict
    assert "the largest free block had about 2.30 GiB, just short of it" in verdict
    assert "one block of about 2.20 GiB was in use" in verdict
    small = pipeline.explain(last_bin(3, "2.20GiB") + WANTED.format(free="1.10GiB")).verdict
    assert "about 1.10 GiB, too small for it; 3 blocks of 256.00 MiB and more held about 2.20 GiB" in small


def test_of_chunks_that_were_cut_nobody_knows_the_largest_free_one() -> None:
    chunks = "Chunk at 0x10216400000 of size 1280\nFree at 0x10216400500 of size 1048576\n"
    verdict = pipeline.explain("Bin for 2.40GiB was 256.00MiB, Chunk State: \n" + chunks).verdict
    assert "the largest free block" not in verdict


def test_bins_below_the_large_ones_tell_what_is_not_in_them() -> None:
    low = "".join(
        BIN.format(low=1 << at, all=1, used=1, size="1.50MiB", held="1.50MiB") for at in range(20, 24)
    )
    report = pipeline.explain(low)
    assert "blocks of 1.00 MiB to 16.00 MiB, whose bins are here, hold 6.00 MiB" in report.verdict
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs[0] == "read-the-log" and "record-a-step" not in slugs
    full = low + BIN.format(low=1 << 24, all=70, used=68, size="1.50GiB", held="1.25GiB")
    verdict = pipeline.explain(full).verdict
    assert "whose bins are here" not in verdict
    assert "; 68 blocks of 16.00 MiB to 32.00 MiB held about 1.25 GiB" in verdict


def test_bins_of_free_chunks_alone_tell_nothing_of_those_in_use() -> None:
    bin_ = "Bin ({}): \tTotal Chunks: 1, Chunks in use: 0 {}KiB allocated for chunks."
    of_old = " 10B client-requested for chunks. 0B in use in bin. 0B client-requested in use in bin.\n"
    text = "".join(bin_.format(1024 << at, 1 << at) + of_old for at in range(4))
    assert "whose bins are here" not in pipeline.explain(text).verdict
    of_new = " 0B in use in bin. 0B client-requested in use in bin.\n"
    newer = text.replace(of_old, of_new).replace("in use: 0 ", "in use: 0. ")
    assert "whose bins are here" in pipeline.explain(newer).verdict


def test_requests_that_are_no_failures_are_not_what_the_dump_is_of() -> None:
    low = "".join(
        BIN.format(low=1 << at, all=1, used=1, size="1.50MiB", held="1.50MiB") for at in range(20, 24)
    )
    soft = (
        "W bfc_allocator.cc:217] Ran out of memory trying to allocate 1.50GiB. The caller indicates that this"
        " is not a failure, but may mean that there could be performance gains if more memory is available.\n"
    )
    assert "line 1 could not have is no failure" in pipeline.explain(soft + low).verdict
    assert "no failure" not in pipeline.explain(low).verdict


def test_a_few_small_blocks_are_no_use_of_a_device() -> None:
    few = pipeline.explain("Chunk at 0x10216400000 of size 1280\nChunk at 0x10216400500 of size 65536\n")
    some = pipeline.explain("Chunk at 0x10216400000 of size 1280\nChunk at 0x10216400500 of size 2097152\n")
    assert _balance.is_next_to_nothing(few.case.moments[0])
    assert not _balance.is_next_to_nothing(some.case.moments[0])
    assert _screen.sections(few, VIEW) == [] and _screen.sections(some, VIEW) != []
