"""Shapes of kernels: of convolutions, and of a fully connected layer behind Flatten."""

from __future__ import annotations

_MAX_KERNEL_SIDE = 11
_MOST_INPUTS = 16_384
"""No layer gives a convolution more channels: what stands there counts steps, rows or pixels."""


def like_a_kernel(shape: tuple[int | None, ...] | None) -> bool:
    """Whether a shape is that of a convolution's kernel: two or three small sides, then channels."""
    if not shape or len(shape) not in (4, 5) or not all(shape):
        return False
    *sides, inputs, units = (size or 1 for size in shape)
    square = len(set(sides)) == 1 and sides[0] <= _MAX_KERNEL_SIDE
    return square and sides[0] <= min(inputs, units) and inputs <= _MOST_INPUTS


def like_a_turned_kernel(shape: tuple[int | None, ...] | None) -> bool:
    """Whether a shape is that of a kernel as cuDNN wants it, `[64,64,3,3]`: two channels, then small odd
    sides. Maps of a deep layer may have it, too.
    """
    if not shape or len(shape) != 4 or not all(shape):
        return False
    units, inputs, height, width = (size or 1 for size in shape)
    return height == width and height in (3, 5, 7, 11) and min(units, inputs) >= height


def flattened(inputs: int) -> tuple[int, int] | None:
    """The side and the channels of a square feature map with so many numbers, None where there is none."""
    for channels in (512, 256, 128, 64, 32, 16, 2048, 1024):
        side = round((inputs / channels) ** 0.5)
        if side > 1 and side * side * channels == inputs:
            return side, channels
    return None


def like_a_dense_kernel(shape: tuple[int | None, ...] | None) -> bool:
    """Whether a matrix has as many rows as a square feature map has numbers, and so many as no batch or
    sequence is likely to have: a power of two may be any of these.
    """
    if not shape or len(shape) != 2 or not all(shape):
        return False
    rows, units = (size or 1 for size in shape)
    return rows >= 2048 and units >= 256 and bool(rows & (rows - 1)) and flattened(rows) is not None
