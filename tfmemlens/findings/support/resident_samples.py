"""Blocks of a dump that hold whole numbers of pictures of the text's own size: a data set on the device.

A chunk that is cut to measure has its tensor's bytes, rounded up to 256. Of pictures of 250 x 250 x 3 in
float32 one in some 3,000 sizes is such a number by chance, and it must be a thousand pictures and more, which
no batch has.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from tfmemlens.findings.support.many_alike import size_classes
from tfmemlens.findings.support.rows import all_in_use
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Moment
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import round_up

_HEIGHT = regex(r"(?i)(?:\A|_)(?:height|rows|h)\Z|\Aimg_?h|\Aim_?height")
_WIDTH = regex(r"(?i)(?:\A|_)(?:width|cols|w)\Z|\Aimg_?w|\Aim_?width")
_SIDE = regex(
    r"(?i)(?:im(?:g|age)|input|crop|tile|patch|target)_?(?:size|side|dim|shape|res)\w{0,4}\Z|\Asize\Z"
)
_CHANNELS, _ITEM_BYTES = (3, 1, 4), ((4, "float32"), (8, "float64"), (1, "uint8"))
_LEAST_SIDE, _LEAST_SAMPLES, _MOST_BLOCKS, _LEAST_ODD = 16, 1000, 4, 5000
_LARGE, _ALL = 0.05, 0.2
"""Of what is in use: each of the blocks, and all of them together."""


class Samples(NamedTuple):
    """So many samples of this shape in so many blocks."""

    many: int
    blocks: int
    size_bytes: int
    shape: tuple[int, int, int]
    dtype: str
    line: Line


def resident_samples(told: Surroundings, moment: Moment) -> list[Samples]:
    """The blocks, the largest first, where they are a fifth of what is in use; empty otherwise."""
    whole = all_in_use(moment)
    large = [
        each
        for each in size_classes(moment)
        if each.size_bytes >= _LARGE * whole and each.count <= _MOST_BLOCKS and whole
    ]
    for height, width, line in _pictures(told) if large else ():
        for channels in _CHANNELS:
            for item, dtype in _ITEM_BYTES:
                shape = (height, width, channels)
                one = prod(shape) * item
                found = [
                    Samples(each.size_bytes // one, each.count, each.size_bytes, shape, dtype, line)
                    for each in large
                    if _is_of_samples(each.size_bytes, one)
                ]
                if sum(each.blocks * each.size_bytes for each in found) >= _ALL * whole:
                    return sorted(found, key=lambda each: -each.size_bytes)
    return []


def _is_of_samples(size_bytes: int, one: int) -> bool:
    """Whether it is a whole number of samples, and a thousand or more; a size of small factors, such as those
    of a network's maps (224 x 224 x 192), tells nothing.
    """
    count = size_bytes // one
    whole = count * one
    odd = whole // (whole & -whole) if whole else 0
    return count >= _LEAST_SAMPLES and round_up(whole) == size_bytes and odd >= _LEAST_ODD


def _pictures(told: Surroundings) -> Iterator[tuple[int, int, Line]]:
    """Heights and widths that the text states, by their names."""
    alone = {
        each.name: (each.sizes[0], each.line) for each in told.sizes if len(each.sizes) == 1 and each.name
    }
    heights = [value for name, value in alone.items() if _HEIGHT.search(name)]
    widths = [value for name, value in alone.items() if _WIDTH.search(name)]
    yield from ((height, width, line) for height, line in heights for width, _ in widths)
    yield from ((size, size, line) for name, (size, line) in alone.items() if _SIDE.search(name))
    for each in told.sizes:
        if len(each.sizes) in (2, 3) and min(each.sizes[:2]) >= _LEAST_SIDE:
            yield each.sizes[0], each.sizes[1], each.line
