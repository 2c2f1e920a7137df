"""The allocator without memory: chunk for chunk what TensorFlow's own gave."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tfmemlens.knowledge.bfc import (
    MAX_WASTE_BYTES,
    Call,
    Chunk,
    Pool,
    RecordedPool,
    may_hold,
    serves,
    smallest_limit,
)
from tfmemlens.schema import parse
from tfmemlens.units import MIB, round_up

WHOLE = SAMPLES / "fit" / "2.21-whole-process.xplane.pb.gz"


def events() -> list[tuple[float, dict[str, Any]]]:
    """Every allocation and free of a process since its start, in order."""
    found = []
    for plane in parse("XSpace", gzip.decompress(WHOLE.read_bytes())).planes:
        wanted = {
            key
            for key, data in plane.event_metadata.items()
            if data.name in ("MemoryAllocation", "MemoryDeallocation")
        }
        names = {key: data.name for key, data in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                if event.metadata_id in wanted:
                    facts = {
                        names[stat.metadata_id]: stat.uint64_value or stat.int64_value for stat in event.stats
                    }
                    facts["born"] = plane.event_metadata[event.metadata_id].name == "MemoryAllocation"
                    found.append((line.timestamp_ns + event.offset_ps / 1e3, facts))
    return sorted(found, key=lambda pair: pair[0])


def test_every_chunk_of_a_real_process() -> None:
    pool, alive = Pool(), dict[int, Chunk]()
    for _, facts in events():
        if facts["born"]:
            chunk = pool.allocate(facts["requested_bytes"])
            assert chunk is not None and chunk.size_bytes == facts["allocation_bytes"]
            alive[facts["addr"]] = chunk
        else:
            pool.free(alive.pop(facts["addr"]))
        assert pool.in_use_bytes == facts["bytes_allocated"]
    assert pool.peak_bytes == max(facts["peak_bytes_in_use"] for _, facts in events())


@given(st.lists(st.integers(0, 40 * MIB), max_size=40), st.randoms(use_true_random=False))
def test_the_books_balance_and_all_comes_back(requests: list[int], random: Any) -> None:
    pool, alive = Pool(), []
    for request in requests:
        chunk = pool.allocate(request)
        assert chunk is not None
        assert round_up(request) <= chunk.size_bytes or not request
        assert chunk.size_bytes - round_up(request) < min(max(round_up(request), 1), MAX_WASTE_BYTES)
        alive.append(chunk)
        if random.random() < 0.4:
            pool.free(alive.pop(random.randrange(len(alive))))
        assert pool.in_use_bytes == sum(each.size_bytes for each in alive) <= pool.pool_bytes
    for chunk in alive:
        pool.free(chunk)
    assert pool.in_use_bytes == 0
    assert pool.peak_bytes <= pool.pool_bytes


@pytest.mark.parametrize("grows", [True, False])
def test_a_limit_is_kept(grows: bool) -> None:
    pool = Pool(10 * MIB, grows)
    first = pool.allocate(6 * MIB)
    assert first is not None
    assert pool.allocate(6 * MIB) is None
    pool.free(first)
    assert pool.allocate(9 * MIB) is None if grows else pool.allocate(9 * MIB) is not None
    assert pool.pool_bytes <= 10 * MIB


def test_a_chunk_is_split_only_when_twice_as_large() -> None:
    pool = Pool(1 * MIB, grows=False)
    chunk = pool.allocate(600 << 10)
    assert chunk is not None
    assert chunk.size_bytes == 1 * MIB
    pool.free(chunk)
    chunk = pool.allocate(500 << 10)
    assert chunk is not None
    assert chunk.size_bytes == 500 << 10


def made(*sizes: int) -> tuple[Call, ...]:
    """Calls of what a list of numbers says: n asks for n MiB, -n gives the first chunk of n MiB back."""
    calls: list[Call] = []
    alive: dict[int, list[int]] = {}
    for number, size in enumerate(sizes):
        if size > 0:
            alive.setdefault(size, []).append(number)
            calls.append((number, size * MIB))
        else:
            calls.append((alive[-size].pop(0), 0))
    return tuple(calls)


IN_PIECES = made(2, 3, -2, 4)
"""Regions of 2 and 4 MiB; 3 MiB take the whole second, since a chunk of 4 is not split for them. The first is
empty again when 4 MiB are asked for, and too small: they need a region of their own. At most 7 MiB are asked
for at once, and 2 + 4 + 4 are needed.
"""


def test_a_recorded_pool_remembers_what_it_was_asked() -> None:
    pool = RecordedPool()
    first, nothing, second = (pool.allocate(size) for size in (2 * MIB, 0, 3 * MIB))
    assert first and nothing and second
    pool.free(nothing)
    pool.free(first)
    third = pool.allocate(2 * MIB)
    assert third is first
    pool.free(second)
    pool.free(third)
    assert pool.calls == [(0, 2 * MIB), (1, 3 * MIB), (0, 0), (3, 2 * MIB), (1, 0), (3, 0)]
    assert pool.in_use_bytes == 0


@pytest.mark.parametrize(
    ("calls", "peak", "limit"),
    [
        (made(2), 2 * MIB, 2 * MIB),
        (made(2, -2, 2, -2), 2 * MIB, 2 * MIB),
        (((0, 1000),), 1024, 1024),
        (IN_PIECES, 7 * MIB, 10 * MIB),
        (made(2, 4, -2, 4), 8 * MIB, 10 * MIB),  # the 2 MiB are left over in one piece, and of no use
        (made(2, 4, -4, 4), 6 * MIB, 6 * MIB),  # near miss: what is given back fits what is asked for
        (made(2, 3, -2, 1), 5 * MIB, 5 * MIB),  # near miss: the piece is large enough
        ((), 0, 0),
    ],
)
def test_the_smallest_limit_to_the_byte(calls: tuple[Call, ...], peak: int, limit: int) -> None:
    assert smallest_limit(calls, peak) == limit
    assert serves(calls, limit)
    assert not limit or not serves(calls, limit - 1)


def test_a_limit_is_never_below_what_it_must_at_least_be() -> None:
    assert smallest_limit(made(2), 5 * MIB) == 5 * MIB
    assert smallest_limit(IN_PIECES, 12 * MIB) == 12 * MIB


def test_a_coarser_limit_is_no_smaller_and_near() -> None:
    found = smallest_limit(IN_PIECES, 7 * MIB, MIB // 4)
    assert 10 * MIB <= found <= 10 * MIB + MIB // 4
    assert serves(IN_PIECES, found)


@given(st.lists(st.integers(1, 40 * MIB), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_smallest_limit_serves_and_bounds_the_peak(requests: list[int], random: Any) -> None:
    pool = RecordedPool()
    alive = []
    for request in requests:
        chunk = pool.allocate(request)
        assert chunk is not None
        alive.append(chunk)
        if random.random() < 0.4:
            pool.free(alive.pop(random.randrange(len(alive))))
    largest = max(map(round_up, requests))
    limit = smallest_limit(pool.calls, largest)
    assert largest <= limit <= pool.pool_bytes
    assert serves(pool.calls, limit)
    assert limit == largest or not serves(pool.calls, limit - 256)
    assert smallest_limit([*pool.calls, (len(pool.calls), 50 * MIB)], limit) >= limit


@pytest.mark.parametrize(
    "chunk, tensor, holds",
    [
        (256, 100, True),
        (511, 100, True),
        (512, 100, False),  # twice as large: split
        (768, 512, True),
        (256, 512, False),
        (400 * MIB - 1, 272 * MIB, True),
        (400 * MIB, 272 * MIB, False),  # 128 MiB more: split
    ],
)
def test_which_chunks_a_tensor_may_have(chunk: int, tensor: int, holds: bool) -> None:
    assert may_hold(chunk, tensor) is holds
