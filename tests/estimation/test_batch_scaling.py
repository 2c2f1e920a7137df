"""What a row would ask for at another batch: whole elements, rounded up."""

from __future__ import annotations

import pytest

from tests.builders import row, timeline
from tfmemlens.estimation.batch_scaling.scaling import _by_marks, laws_of, proportional
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.fit import Scale


@pytest.mark.parametrize(("batch", "size"), [(8, 1000), (16, 2000), (4, 500), (1, 125), (3, 375), (7, 875)])
def test_bytes_grow_with_the_batch(batch: int, size: int) -> None:
    assert proportional(1000, 8).request(batch) == size


def test_a_part_of_a_byte_is_one_more() -> None:
    assert proportional(10, 3).request(1) == 4
    assert proportional(10, 3).request(2) == 7


def shaped(*shape: int) -> Allocation:
    made = row("net/relu/Relu", 1, 0, 1)
    return Allocation(made.node, 1 << 20, device=made.device, allocator=made.allocator, start_micros=0.0,
                      end_micros=1.0, shape=shape, dtype="float32", purpose=made.purpose)  # fmt: skip


def test_the_leading_dimension_is_the_batch() -> None:
    (law,) = laws_of(timeline(shaped(8, 5)), None, 8)
    assert law.scale is Scale.BATCH
    assert [law.request(batch) for batch in (8, 16, 1)] == [160, 320, 20]


def test_a_multiple_of_the_batch_is_rounded_up_to_whole_rows() -> None:
    """[B * 5, 3] with batches of 2 that were split: 10 rows at 2, 15 at 3."""
    (law,) = laws_of(timeline(shaped(10, 3)), None, 2)
    assert [law.request(batch) for batch in (2, 3, 1)] == [120, 180, 60]


def test_another_leading_dimension_stays() -> None:
    (law,) = laws_of(timeline(shaped(9, 5)), None, 8)
    assert law.scale is Scale.FIXED
    assert law.request(16) == law.request(8) == 180


def test_a_part_of_a_row_is_a_whole_one() -> None:
    """A graph may say that nine rows grow with a batch of eight: half of them are five."""
    law = _by_marks((9, 5), (True, False), shaped(9, 5), 8)
    assert [law.request(batch) for batch in (8, 16, 4)] == [180, 360, 100]
