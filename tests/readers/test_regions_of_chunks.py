"""Regions of a memory dump: chunks whose addresses follow each other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tfmemlens.readers.formats.memory_dump import _regions


@pytest.mark.parametrize(
    "chunks, sizes, index",
    [
        ([], [], []),
        ([(0, 10)], [10], [0]),
        ([(256, 10), (266, 5)], [15], [0, 0]),
        ([(256, 10), (267, 5)], [10, 5], [0, 1]),
        ([(0, 10), (10, 5), (20, 3), (23, 4), (0, 1)], [15, 7, 1], [0, 0, 1, 1, 2]),
    ],
)
def test_a_new_region_begins_where_addresses_do_not_follow(
    chunks: list[tuple[int, int]], sizes: list[int], index: list[int]
) -> None:
    given = [SimpleNamespace(address=address, size=size) for address, size in chunks]
    assert _regions(given) == (sizes, index)
