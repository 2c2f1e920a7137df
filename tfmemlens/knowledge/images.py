"""Shapes of images as they are read: height, width and colours."""

from __future__ import annotations

from collections.abc import Sequence

_COLOURS = (1, 3, 4)
_LEAST_SIDE, _LONGEST = 48, 4
"""Points with three coordinates have as many dimensions: a batch of them is far shorter than it is long."""


def sides_of_an_image(shape: Sequence[int | None]) -> tuple[int, int] | None:
    """Height and width where a shape of three dimensions is one image with its colours, and no batch."""
    if len(shape) != 3 or shape[2] not in _COLOURS:
        return None
    height, width = shape[0] or 1, shape[1] or 1
    low, high = sorted((height, width))
    return (height, width) if low >= _LEAST_SIDE and high <= _LONGEST * low else None


def is_frames_or_image(shape: Sequence[int | None]) -> bool:
    """Whether a shape is one image in its colours, or several of one size: frames of a clip, or a batch."""
    return sides_of_an_image(shape[1:] if len(shape) == 4 else shape) is not None
