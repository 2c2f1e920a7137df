"""Convolutions recognised by the shapes of their buffers."""

from __future__ import annotations

import math

from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class ColBuffer:
    """The explicit im2col buffer of a CPU convolution gradient: [images, out_height*out_width,
    kernel_height*kernel_width*channels].
    """

    images: int
    positions: int
    patch: int
    grids: tuple[tuple[int, int], ...]
    """Output grids (height, width) with that many positions, squarest first."""
    kernels: tuple[tuple[int, int, int], ...]
    """(kernel_height, kernel_width, channels) with that patch size, likeliest first."""


_MAX_POSITIONS = 1 << 31
"""The kernels count positions in 32 bits."""


def col_buffer_of(shape: tuple[int | None, ...] | None) -> ColBuffer | None:
    """Read a shape such as [1,65536,576] as an im2col buffer: a 3x3 kernel over 64 channels on a 256x256
    grid.

    Source: conv_grad_filter_ops.cc and conv_grad_input_ops.cc (`col_buffer`), read in TF 1.10, 1.15 and 2.21
    and measured in each. None if the shape cannot be one.
    """
    if shape is None or len(shape) != 3 or any(size is None or size < 1 for size in shape):
        return None
    images, positions, patch = (size or 0 for size in shape)
    kernels = kernels_of(patch)
    if not kernels or not 2 <= positions < _MAX_POSITIONS:
        return None
    return ColBuffer(images, positions, patch, _grids(positions), kernels)


def _grids(positions: int) -> tuple[tuple[int, int], ...]:
    pairs = [
        (side, positions // side) for side in range(1, math.isqrt(positions) + 1) if positions % side == 0
    ]
    return tuple(pair for pair in reversed(pairs) if pair[1] <= 8 * pair[0])[:4] or (pairs[-1],)


def kernels_of(patch: int) -> tuple[tuple[int, int, int], ...]:
    """Square kernels first, odd before even, channels that are usual before others."""
    options = [(side, side, patch // (side * side)) for side in range(1, 32) if patch % (side * side) == 0]
    return tuple(sorted(options, key=lambda option: _oddity(*option)))[:3]


def volume_kernels_of(patch: int) -> tuple[tuple[int, int], ...]:
    """Cubic kernels with that patch size as (side, channels), likeliest first."""
    options = [(side, patch // side**3) for side in (3, 5, 7, 2, 4, 1) if patch % side**3 == 0]
    return tuple(sorted(options, key=lambda option: _volume_oddity(*option)))


def _volume_oddity(side: int, channels: int) -> tuple[int, int]:
    """Unlike an image's, a volume's 1x1x1 kernel is unrolled, too: 16 columns are 16 channels rather than two
    under a 2x2x2 kernel.
    """
    usual = _usual(channels)
    ranks = (usual and side == 3, usual and side in (5, 7), usual and side > 1, usual, True)
    return ranks.index(True), side


def _oddity(height: int, _: int, channels: int) -> tuple[int, int]:
    usual = _usual(channels)
    ranks = (
        usual and height == 3,
        usual and height in (5, 7),
        usual and 1 < height <= 7,
        usual and height == 11,
        1 < height <= 7,
        usual and height > 1,
        height > 1,
        True,
    )
    return ranks.index(True), height


def _usual(channels: int) -> bool:
    return channels in (1, 3) or (channels >= 8 and channels & (channels - 1) == 0) or channels % 8 == 0


def is_likely(kernel: tuple[int, ...], channels: int) -> bool:
    """Whether many models have such a kernel: a square of 3, 5 or 7 over a usual number of channels."""
    return len(set(kernel)) == 1 and kernel[0] in (3, 5, 7) and _usual(channels)


LARGEST_USUAL_KERNEL = 11
"""Sides of kernels in 3-D are no larger than this, those of volumes are."""


def is_shuffled_volume(shape: tuple[int | None, ...] | None) -> bool:
    """Whether what a 3-D weight gradient asks for is no gradient, [3,3,3,16,16], but a re-ordered volume,
    [32,64,64,2,16]: so before TF 1.12.
    """
    return (
        shape is not None and len(shape) == 5 and max(size or 0 for size in shape[:3]) > LARGEST_USUAL_KERNEL
    )
