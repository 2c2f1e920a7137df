"""Shapes that only a kernel has, and those that a batch or an image may have as well."""

from __future__ import annotations

import pytest

from tfmemlens.knowledge.kernel_shapes import flattened, like_a_dense_kernel, like_a_kernel

Shape = tuple[int | None, ...] | None


@pytest.mark.parametrize(
    "shape, kernel",
    [
        ((3, 3, 16, 32), True),
        ((3, 3, 3, 16, 32), True),
        ((1, 1, 1, 1), True),
        ((11, 11, 11, 64), True),
        ((12, 12, 64, 64), False),  # a small image
        ((3, 5, 16, 32), False),
        ((3, 3, 5, 16, 32), False),
        ((3, 3, 3, 32), True),
        ((3, 3, 2, 32), False),  # fewer channels than a side
        ((3, 3, 32, 2), False),
        ((3, 3, 32), False),
        ((3, 3, 3, 3, 16, 32), False),
        ((3, 3, None, 32), False),
        ((3, 3, 0, 32), False),
        ((), False),
        (None, False),
    ],
)
def test_of_a_convolution(shape: Shape, kernel: bool) -> None:
    assert like_a_kernel(shape) is kernel


@pytest.mark.parametrize(
    "inputs, found",
    [
        (7 * 7 * 512, (7, 512)),
        (7 * 7 * 2048, (14, 512)),  # of two the likelier
        (5 * 5 * 256, (5, 256)),
        (5 * 5 * 128, (5, 128)),
        (3 * 3 * 64, (3, 64)),
        (5 * 5 * 32, (5, 32)),
        (5 * 5 * 16, (5, 16)),
        (2 * 2 * 512, (2, 512)),
        (512, (2, 128)),
        (25, None),
        (1, None),
        (16, None),  # a side of one is no map
        (7 * 7 * 512 + 1, None),
    ],
)
def test_a_flattened_map(inputs: int, found: tuple[int, int] | None) -> None:
    assert flattened(inputs) == found


@pytest.mark.parametrize(
    "shape, kernel",
    [
        ((25088, 4096), True),
        ((25088, 256), True),
        ((25088, 255), False),
        ((2304, 256), True),
        ((2048, 256), False),  # a power of two may be a batch
        ((4096, 256), False),
        ((1600, 256), False),  # too few rows
        ((25087, 4096), False),
        ((25088, 4096, 1), False),
        ((25088,), False),
        ((None, 4096), False),
        ((25088, 0), False),
        ((), False),
        (None, False),
    ],
)
def test_of_a_dense_layer(shape: Shape, kernel: bool) -> None:
    assert like_a_dense_kernel(shape) is kernel
