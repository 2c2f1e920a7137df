"""Shapes of the kernels of convolutions."""

from __future__ import annotations

_MAX_KERNEL_SIDE = 11


def like_a_kernel(shape: tuple[int | None, ...] | None) -> bool:
    """Whether a shape is that of a convolution's kernel: two or three small sides, then channels."""
    if not shape or len(shape) not in (4, 5) or not all(shape):
        return False
    *sides, inputs, units = (size or 1 for size in shape)
    return len(set(sides)) == 1 and sides[0] <= _MAX_KERNEL_SIDE and min(inputs, units) >= sides[0]
