"""The writer's own setting behind a side of the failed tensor: `RESOLUTION = 512` makes 4096 positions of a
map that is 8 times smaller, `capacity=20000` a replay memory of so many rows, a photo of 160 x 160 x 3 a
matrix of 76800 x 76800.

Other modules name a batch, a length and an image's own sides; this one what stands in a shape under another
number, or under a name that no table knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.named_sizes import Meaning, meaning_of
from tfmemlens.model.capture import StatedSize, Surroundings
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

_LEAST, _LEAST_PAIR = 64, 256
"""A smaller side is met by chance; of a matrix of positions with positions a smaller one takes little."""
_STRIDES = (1, 2, 4, 8, 16, 32)
_PADS = (1, 2, 3, 4, 6)
"""What a layer adds to both sides of an image before a convolution."""
_NO_KNOB = regex(
    r"(?i)batch|epoch|seed|steps_per|gpus?\b|worker|port\b|version|dilat|stride|num_samples|iter|shape\Z"
    r"|limit|range|id\Z|line|\bpy\Z"
)
"""Names of numbers that make no tensor larger."""
_COUNTS = regex(
    r"(?i)cap(?:acity)?\b|size|dim|units|hidden|filters|channels|window|top_?k|len|max|num|^n_|_n\Z|rows|cols"
    r"|points|neighbou?rs|anchors|boxes|queries|depth|features|slots|tokens|classes|vocab|items|users|nodes"
)
"""What a name says that counts something: then a power of two is no chance."""
_IMAGE = regex(r"(?i)im(?:g|age)|resol|height|width|patch|crop|tile|side|size|pix")
REPLAY = regex(r"(?i)cap(?:acity)?\b|buffer|memory|replay")
"""Names of what a program keeps of its past, whose rows stand first; others have their batch there."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting that makes a side of the tensor."""

    name: str
    value: int
    line: Line
    meaning: Meaning
    says: str
    """How the side comes from it: `4,096 is (512 / 8) squared`."""
    power: int
    """With what power the tensor grows with it."""
    flat: bool = False
    """Whether whole images are laid out as one row each."""


def knob(shape: Sequence[int | None] | None, told: Surroundings) -> Knob | None:
    """The one setting that fits; None where none or several do."""
    if not shape:
        return None
    sides = [size or 0 for size in shape]
    stated = [each for each in told.sizes if _is_set(each)]
    for ways in (_of_flat_images(sides, told.sizes), _of_positions(sides, stated), _padded(sides, stated)):
        if found := _only(list(ways)):
            return found
    return _only(list(_direct(sides, stated)))


def _only(found: list[Knob]) -> Knob | None:
    names = {each.name for each in found}
    return found[0] if len(names) == 1 else None


def _is_set(stated: StatedSize) -> bool:
    """Whether its line sets it by name, as code or a file of settings does."""
    name, text = stated.name, stated.line.text
    at = text.find(name) if name else -1
    if at < 0 or (_NO_KNOB.search(name) and not _IMAGE.search(name)):
        return False
    rest = text[at + len(name) :].lstrip("'\" ")
    if rest[:1] == ":" and _IN_A_SENTENCE.search(text[:at]):
        return False
    option = text[:at].endswith("--") and rest[:1].isdigit()
    return option or (rest[:1] in ("=", ":") and rest[:2] != "==")


_IN_A_SENTENCE = regex(r"[a-z']{2,20} [a-z']{2,20} [a-z']{2,20} [`'\"]?\Z")
"""Before a word that a colon follows: `the tensor is pretty big: 1393860` sets nothing."""


def _of_positions(sides: Sequence[int], stated: Sequence[StatedSize]) -> Iterator[Knob]:
    """A matrix of all positions of an image with all."""
    count = sides[-1]
    if len(sides) < 2 or count < _LEAST_PAIR or sides[-2] not in (count, count - 1):
        return
    for each in stated:
        side = each.sizes[0]
        square = len(each.sizes) == 1 or each.sizes[:2] == (side, side)
        maps = {side // stride for stride in _STRIDES}
        if not square or not _IMAGE.search(each.name) or count in maps:
            continue  # else it may be a map of that image
        for stride in _STRIDES:
            if side % stride == 0 and (side // stride) ** 2 in (count, count - 1):
                few = side // stride
                of = f", {side} / {stride} each way" if stride > 1 else ""
                says = f"{count:,} are {few} x {few} positions of an image{of}"
                yield Knob(each.name, side, each.line, Meaning.IMAGE, says, 4)


def _of_flat_images(sides: Sequence[int], stated: Sequence[StatedSize]) -> Iterator[Knob]:
    """A side that is a whole image in one row: 76,800 of 160 x 160 x 3."""
    for each in stated:
        image = [size for size in each.sizes if size > 1]
        if len(each.sizes) < 3 or len(image) not in (2, 3) or min(image[:2]) < _STRIDES[-1]:
            continue
        if image[2:] and image[2] > 4:
            continue
        pixels = math.prod(image)
        times = sides.count(pixels)
        if times and pixels not in each.sizes:
            says = f"{pixels:,} is {' x '.join(map(str, image))}, an image in one row"
            name = each.name if _is_set(each) else ""
            yield Knob(name, image[0], each.line, Meaning.IMAGE, says, 2 * min(times, 2), flat=True)


def _padded(sides: Sequence[int], stated: Sequence[StatedSize]) -> Iterator[Knob]:
    """Both sides of an image, each larger by what a layer adds."""
    inner = sides[1:]
    for each in stated:
        side = each.sizes[0]
        alike = len(each.sizes) == 1 or each.sizes[:2] == (side, side)
        if len(sides) < 4 or side < _LEAST or not alike or not _IMAGE.search(each.name) or side in inner:
            continue
        for pad in _PADS:
            if inner.count(side + pad) == 2:
                says = f"{side + pad} x {side + pad} is {side} x {side} and what a layer adds at the edges"
                yield Knob(each.name, side, each.line, Meaning.IMAGE, says, 2)


def _direct(sides: Sequence[int], stated: Sequence[StatedSize]) -> Iterator[Knob]:
    """A side under its own number, of a name that tells neither batch, length, image nor words."""
    for each in stated:
        value, meaning = each.sizes[0], meaning_of(each.name)
        chance = value & (value - 1) == 0 and not _COUNTS.search(each.name)
        if len(each.sizes) > 1 or value < _LEAST or chance or meaning is not Meaning.OTHER:
            continue
        inner = sides if len(sides) == 2 or REPLAY.search(each.name) else sides[1:]
        if times := inner.count(value):
            says = f"it is the {value:,} of this shape"
            yield Knob(each.name, value, each.line, meaning, says, min(times, 2))
