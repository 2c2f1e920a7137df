"""Tensors in chunks larger than they need: only where just these explain all that was in use."""

from __future__ import annotations

import pytest

from tfmemlens.attribution.moments.exact_chunks import exact_chunks
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.attribution import NOBODY
from tfmemlens.units import MIB

TABLES = [(Allocation("a", 39 * MIB, requested_bytes=39 * MIB), NOBODY)] * 3
SHOWN = {39 * MIB: [64 * MIB, 64 * MIB, 50 * MIB, 39 * MIB]}


@pytest.mark.parametrize(
    "rest, sizes",
    [
        (50, [64, 64, 39]),
        (25, [64, 39, 39]),
        (36, [50, 64, 39]),
        (61, [50, 64, 64]),
        (20, None),  # no choice leaves only small change
        (75, None),
        (0, None),
    ],
)
def test_the_choice_that_leaves_nothing(rest: int, sizes: list[int] | None) -> None:
    found = exact_chunks(TABLES, SHOWN, rest * MIB)
    assert (found and sorted(row.size_bytes // MIB for row, _ in found)) == (sizes and sorted(sizes))


def test_no_chunk_for_two_and_none_that_is_not_shown() -> None:
    one = {39 * MIB: [64 * MIB]}
    assert exact_chunks(TABLES, one, 25 * MIB) and exact_chunks(TABLES, one, 50 * MIB) is None
    assert exact_chunks(TABLES, {}, 25 * MIB) is None


def test_classes_together() -> None:
    rows = [*TABLES, (Allocation("b", 10 * MIB, requested_bytes=10 * MIB), NOBODY)]
    found = exact_chunks(rows, {**SHOWN, 10 * MIB: [17 * MIB]}, 32 * MIB)
    assert found and sorted(row.size_bytes // MIB for row, _ in found) == [17, 39, 39, 64]
