"""Blocks that are whole numbers of samples, to the byte, beside a small request."""

from __future__ import annotations

import pytest

from tests.findings.test_rules_alone import chunks, only
from tests.findings.test_support import asked, case
from tfmemlens.findings import data_sets_by_size
from tfmemlens.model.case import Moment
from tfmemlens.units import MIB
from tfmemlens.values import replace

PICTURE = 50 * 50 * 3 * 4
"""Bytes of one of 50 x 50 pixels in three colours."""


def beside(*sizes: tuple[int, int], shape: tuple[int | None, ...] = (16, 50, 50, 8)) -> Moment:
    """These blocks, of (bytes, how many), beside a failed batch of maps."""
    return chunks(*sizes, request=replace(asked(MIB, shape=shape, dtype="float32"), batch=shape[0]))


def test_two_sets_are_named_with_their_samples() -> None:
    found = only(data_sets_by_size.check(case(beside((2001 * PICTURE, 2), (500 * PICTURE, 1), (MIB, 10)))))
    assert found.explains == 4502 * PICTURE
    assert "128.80 MiB, 93 % of what is in use, is in 3 blocks" in found.headline
    assert "2,001 and 500 pictures of 50 x 50 x 3 in float32" in found.headline
    (remedy,) = found.remedies
    assert remedy.slug == "keep-off-the-device"


@pytest.mark.parametrize(
    "sizes, shape, fires",
    [
        (((2001 * PICTURE, 1),), (16, 50, 50, 8), True),
        (((2001 * PICTURE + 255, 1),), (16, 50, 50, 8), True),
        (((2001 * PICTURE + 256, 1),), (16, 50, 50, 8), False),
        (((2001 * PICTURE, 1),), (16, 8, 50, 50), True),
        (((2001 * PICTURE, 1),), (16, 50, 51, 8), False),
        (((2001 * PICTURE, 1),), (16, 50, 8), False),
        (((2001 * PICTURE, 1),), (1024, 50, 50, 8), False),
        (((2001 * PICTURE, 1), (70 * MIB, 1)), (16, 50, 50, 8), False),
        (((2001 * PICTURE, 1), (2 * MIB, 70)), (16, 50, 50, 8), False),
        (((200 * PICTURE, 9),), (16, 50, 50, 8), False),
        (((2000 * PICTURE, 1),), (16, 50, 50, 8), False),  # 375 maps of the batch
        (((2000 * PICTURE, 1), (2001 * PICTURE, 1)), (16, 50, 50, 8), True),
    ],
)
def test_each_large_block_is_a_whole_number_of_samples(
    sizes: tuple[tuple[int, int], ...], shape: tuple[int, ...], fires: bool
) -> None:
    assert bool(list(data_sets_by_size.check(case(beside(*sizes, shape=shape))))) is fires


def test_grey_pictures_are_known_by_their_one_channel() -> None:
    found = only(data_sets_by_size.check(case(beside((2003 * 50 * 50 * 4, 1)))))
    assert "2,003 pictures of 50 x 50 x 1" in found.headline
