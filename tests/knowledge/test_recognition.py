"""Convolutions by the shapes of their buffers: grids, kernels and their order, each worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.knowledge.convolution.recognition import (
    _usual,
    col_buffer_of,
    is_likely,
    is_shuffled_volume,
    kernels_of,
    volume_kernels_of,
)


@pytest.mark.parametrize(
    "shape, read",
    [
        ((1, 65536, 576), True),
        ((1, 2, 9), True),
        ((1, 1, 9), False),
        ((1, (1 << 31) - 1, 9), True),
        ((1, 1 << 31, 9), False),
        ((1, 65536), False),
        ((1, 65536, 576, 1), False),
        ((None, 65536, 576), False),
        ((0, 65536, 576), False),
        ((1, 65536, 0), False),
        (None, False),
    ],
)
def test_what_can_be_an_im2col_buffer(shape: Any, read: bool) -> None:
    assert (col_buffer_of(shape) is not None) is read


@pytest.mark.parametrize(
    "positions, grids",
    [
        (64, ((8, 8), (4, 16))),
        (60, ((6, 10), (5, 12), (4, 15), (3, 20))),
        (128, ((8, 16), (4, 32))),
        (127, ((1, 127),)),
        (8, ((2, 4), (1, 8))),
        (9, ((3, 3),)),
        (2, ((1, 2),)),
        (720, ((24, 30), (20, 36), (18, 40), (16, 45))),
    ],
)
def test_grids_the_squarest_first(positions: int, grids: tuple[tuple[int, int], ...]) -> None:
    found = col_buffer_of((2, positions, 27))
    assert found and found.grids == grids
    assert (found.images, found.positions, found.patch) == (2, positions, 27)


@pytest.mark.parametrize(
    "patch, kernels",
    [
        (576, ((3, 3, 64), (2, 2, 144), (6, 6, 16))),
        (27, ((3, 3, 3), (1, 1, 27))),
        (25, ((5, 5, 1), (1, 1, 25))),
        (49 * 8, ((7, 7, 8), (2, 2, 98), (14, 14, 2))),
        (121 * 3, ((11, 11, 3), (1, 1, 363))),
        (13 * 13 * 8, ((2, 2, 338), (13, 13, 8), (26, 26, 2))),
        (31 * 31, ((31, 31, 1), (1, 1, 961))),
        (32 * 32, ((2, 2, 256), (4, 4, 64), (8, 8, 16))),
        (7, ((1, 1, 7),)),
        (900, ((2, 2, 225), (3, 3, 100), (5, 5, 36))),
    ],
)
def test_kernels_the_likeliest_first(patch: int, kernels: tuple[tuple[int, int, int], ...]) -> None:
    assert kernels_of(patch) == kernels


@pytest.mark.parametrize(
    "patch, kernels",
    [
        (27 * 16, ((3, 16), (1, 432), (2, 54))),
        (16, ((1, 16), (2, 2))),
        (125, ((5, 1), (1, 125))),
        (343, ((7, 1), (1, 343))),
        (8, ((2, 1), (1, 8))),
        (27, ((3, 1), (1, 27))),
        (64, ((2, 8), (4, 1), (1, 64))),
    ],
)
def test_kernels_of_volumes(patch: int, kernels: tuple[tuple[int, int], ...]) -> None:
    assert volume_kernels_of(patch) == kernels


@pytest.mark.parametrize(
    "channels, usual",
    [
        (1, True),
        (2, False),
        (3, True),
        (4, False),
        (8, True),
        (16, True),
        (24, True),
        (12, False),
        (20, False),
    ],
)
def test_usual_channels(channels: int, usual: bool) -> None:
    assert _usual(channels) is usual
    assert is_likely((3, 3), channels) is usual
    assert is_likely((7, 7, 7), channels) is usual
    assert not is_likely((3, 5), channels) and not is_likely((4, 4), channels)


@pytest.mark.parametrize(
    "shape, shuffled",
    [
        ((32, 64, 64, 2, 16), True),
        ((12, 3, 3, 16, 16), True),
        ((11, 11, 11, 16, 16), False),
        ((3, 3, 12, 16, 16), True),
        ((3, 3, 3, 64, 64), False),
        ((None, 3, 3, 64, 64), False),
        ((32, 64, 64, 2), False),
        (None, False),
    ],
)
def test_a_volume_that_was_shuffled(shape: Any, shuffled: bool) -> None:
    assert is_shuffled_volume(shape) is shuffled
