"""The allocator without memory: chunk for chunk what TensorFlow's own gave."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tfmemlens.knowledge.bfc import MAX_WASTE_BYTES, Chunk, Pool
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
