"""A request of so many bytes as a product of sizes that the text states: `1,000,000 (buffer_size) x 84 x 84
x 4 in float32`. JAX's message has the bytes alone; the program around it has the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from re import Pattern

from tfmemlens.model.capture import StatedSize
from tfmemlens.model.line import Line
from tfmemlens.units import MIB
from tfmemlens.values import dataclass

_LEAST_BYTES = 64 * MIB
_LEAST_SIDE = 1000
"""From here on a number may stand for both sides of a matrix."""
_TELLING = 100
"""A product holds at least one number as large as this that is no power of two, or as much in odd factors:
others meet by chance.
"""
_MOST_FACTORS = 3
_MOST_NUMBERS = 24
_ITEMS = ((4, "float32"), (2, "16 bits"), (8, "float64"), (1, "8 bits"))


@dataclass(frozen=True, slots=True)
class Product:
    """Sizes whose product with the bytes of one element is a request, to the byte."""

    parts: tuple[tuple[str, tuple[int, ...]], ...]
    """(name or empty, sizes), as the text states them."""
    dtype: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """All of its sizes."""
        return tuple(size for _, sizes in self.parts for size in sizes)

    @property
    def text(self) -> str:
        """`1,000,000 (`buffer_size`) x 84 x 84 x 4 (`obs`) in float32`."""
        parts = self.parts
        if len(parts) == 2 and parts[0] == parts[1]:
            parts = (("", parts[0][1]), parts[1])
        return f"{' x '.join(map(_in_words, parts))} in {self.dtype}"

    @property
    def largest(self) -> str | None:
        """The name of the largest number that stands alone, where it has one."""
        alone = [(sizes[0], name) for name, sizes in self.parts if len(sizes) == 1 and name]
        return max(alone)[1] if alone else None

    @property
    def is_images(self) -> bool:
        """Whether its last sizes are those of images: height, width, and 1, 3 or 4 channels."""
        tail = self.sizes[-3:]
        return len(self.sizes) >= 4 and tail[2] in (1, 3, 4) and min(tail[:2]) >= 16


def _in_words(part: tuple[str, tuple[int, ...]]) -> str:
    name, sizes = part
    words = " x ".join(f"{size:,}" for size in sizes)
    return f"{words} (`{name}`)" if name else words


def as_product(
    need: int | None,
    stated: Iterable[StatedSize],
    *,
    double: bool = False,
    items: Sequence[tuple[int, str]] = _ITEMS,
) -> Product | None:
    """The product of stated sizes that is the request to the byte; None where none is, or where several are
    that differ. `double` says that the program computes in float64; `items` are the bytes that an element may
    have, with their names.
    """
    if need is None or need < _LEAST_BYTES:
        return None
    shapes, numbers = _parts(stated)
    items = ((8, "float64"), *items) if double else items
    for parts, least in _combinations(shapes, numbers):
        products: dict[tuple[tuple[int, ...], str], Product] = {}
        for each in parts:
            for item, dtype in items:
                if item >= least and _is(each, item, need):
                    products.setdefault(
                        (tuple(sorted(size for _, sizes in each for size in sizes)), dtype),
                        Product(each, dtype),
                    )
        if products:
            return _in_32_bits(next(iter(products.values()))) if len(products) == 1 else None
    return _with_another_side(need, shapes, items)


_FLOAT_BYTES = 4


def _in_32_bits(product: Product) -> Product:
    """The same bytes without a pair: `points: n x 2` and a layer's width in 16 bits are as many as n rows of
    that width in float32, which is what programs compute in unless told otherwise; and without a 4 that
    counts the bytes of a number, as in `262144 x 1536 x 4 B`.
    """
    in_bytes = [part for part in product.parts if part[1] == (_FLOAT_BYTES,)]
    if product.dtype == "8 bits" and in_bytes and len(product.parts) > 1:
        return Product(tuple(part for part in product.parts if part is not in_bytes[0]), "float32")
    if product.dtype == "8 bits" and len(product.parts) == 1 and product.parts[0][1][-1:] == (_FLOAT_BYTES,):
        name, sizes = product.parts[0]
        return Product(((name, sizes[:-1]),), "float32") if len(sizes) > 1 else product
    at = next(
        (index for index, (_, sizes) in enumerate(product.parts) if len(sizes) > 1 and sizes[-1] == 2), None
    )
    if at is None or product.dtype != "16 bits" or len(product.parts) < 2:
        return product
    name, sizes = product.parts[at]
    return Product((*product.parts[:at], (name, sizes[:-1]), *product.parts[at + 1 :]), "float32")


_NEAR = 2
"""A convolution, a difference or a shift leaves a row or two out."""


def _with_another_side(
    need: int, shapes: Iterable[tuple[str, tuple[int, ...]]], items: Sequence[tuple[int, str]]
) -> Product | None:
    """A stated shape whose longest side is one or two longer or shorter, to the byte: 499,999 x 1,600 beside
    `500000 x 1600`.
    """
    found: set[Product] = set()
    for _, sizes in shapes:
        longest = max(sizes)
        at = sizes.index(longest)
        others = math.prod(sizes) // longest
        for item, dtype in items if longest >= _LEAST_SIDE and others > 1 else ():
            side, rest = divmod(need, others * item)
            if rest == 0 and 0 < abs(side - longest) <= _NEAR:
                found.add(Product((("", (*sizes[:at], side, *sizes[at + 1 :])),), dtype))
    return found.pop() if len(found) == 1 else None


_ROUND = (1_000, 2_000, 4_000, 5_000, 10_000, 20_000)
"""How many draws, members or steps a library makes where nobody says otherwise."""
_LEAST_OF_A_PAIR = 100


def beside_a_round_number(need: int | None, stated: Iterable[StatedSize]) -> tuple[Product, int] | None:
    """Two numbers of the text that have names, and the round number with which their product is the request
    to the byte, in float32: 1150 sites, 701 days, and 1,000 of what the text does not count.
    """
    _, numbers = _parts(stated)
    named = [part for part in numbers if part[0] and part[1][0] >= _LEAST_OF_A_PAIR]
    found = {
        (Product(pair, "float32"), each)
        for pair in combinations(named, 2)
        for each in _ROUND
        if need == math.prod(part[1][0] for part in pair) * each * _FLOAT_BYTES
        and math.prod(odd_part(part[1][0]) for part in pair) >= _TELLING * _LEAST_OF_A_PAIR
    }
    return found.pop() if len(found) == 1 else None


def as_images(need: int, stated: Iterable[StatedSize]) -> Product | None:
    """The product of a stated number, two stated sides and the channels of images that is the request to the
    byte: 2304 pictures of (480, 640) in three colours.
    """
    shapes, numbers = _parts(stated)
    found = {
        Product((number, (name, (*sides, channels))), dtype)
        for number in numbers
        for name, sides in shapes
        for channels in _CHANNELS
        for item, dtype in _ITEMS
        if len(sides) == 2 and min(sides) >= _LEAST_OF_AN_IMAGE
        if number[1][0] * math.prod(sides) * channels * item == need
    }
    return found.pop() if len(found) == 1 else None


_CHANNELS, _LEAST_OF_AN_IMAGE = (3, 1, 4), 16


def _is(parts: tuple[tuple[str, tuple[int, ...]], ...], item: int, need: int) -> bool:
    sizes = [size for _, sizes in parts for size in sizes]
    telling = any(size >= _TELLING and size & (size - 1) for size in sizes)
    telling = telling or math.prod(map(odd_part, sizes)) >= _TELLING
    return telling and math.prod(sizes) * item == need


def odd_part(size: int) -> int:
    """The number without its factors of two: 84 is 4 x 21."""
    return size // (size & -size)


def stated_number(stated: Sequence[StatedSize], name: Pattern[str]) -> tuple[str, int, Line] | None:
    """The last number that the text states under such a name: its name, itself, its line."""
    return next(
        (
            (each.name, each.sizes[0], each.line)
            for each in reversed(stated)
            if len(each.sizes) == 1 and name.match(each.name)
        ),
        None,
    )


Part = tuple[str, tuple[int, ...]]


def _parts(stated: Iterable[StatedSize]) -> tuple[list[Part], list[Part]]:
    """Shapes of two dimensions and more, and numbers, the named ones first; each once."""
    shapes: dict[tuple[int, ...], str] = {}
    numbers: dict[tuple[int, ...], str] = {}
    for each in stated:
        known = shapes if len(each.sizes) > 1 else numbers
        if 0 not in each.sizes and not known.get(each.sizes):
            known[each.sizes] = each.name
    named = sorted(
        ((name, sizes) for sizes, name in numbers.items()), key=lambda part: (not part[0], -part[1][0])
    )
    return [(name, sizes) for sizes, name in shapes.items()][:_MOST_NUMBERS], named[:_MOST_NUMBERS]


def _combinations(
    shapes: Sequence[Part], numbers: Sequence[Part]
) -> Iterator[tuple[list[tuple[Part, ...]], int]]:
    """Products to try, the simplest first, and the fewest bytes of an element: those of one
    list are equally simple, and the less simple ones meet by chance more often.
    """
    sides = [(name, (size,)) for name, sizes in shapes for size in sizes if size >= _LEAST_SIDE]
    alone = list({sizes: (name, sizes) for name, sizes in (*sides, *numbers)}.values())
    yield [(shape,) for shape in shapes], 1
    yield [(number, number) for number in alone if number[1][0] >= _LEAST_SIDE], 2
    yield list(combinations(alone, 2)), 2
    yield [(number, shape) for number in alone for shape in shapes], 2
    tails = [(name, sizes[1:]) for name, sizes in shapes if len(sizes) > 2]
    yield [(number, tail) for number in numbers for tail in tails], 4
    yield [(*pair, shape) for pair in combinations(numbers, 2) for shape in shapes], 4
    yield list(combinations(alone[:_MOST_NUMBERS], _MOST_FACTORS)), 4


LEAST_SQUARE_SIDE = 16_384
SQUARE_TELLING = 100
"""A side with as much in odd factors is no product of powers of two, which are squares now and then."""
SQUARE_DTYPES = ((4, "float32"), (8, "float64"))
TWICE = "float32, twice"
"""What 8 bytes for each pair are in JAX, unless the text speaks of 64 bits: that is off by default."""
_NEARLY = 0.001


def stated_square(need: int, sizes: Sequence[StatedSize]) -> tuple[int, str, Line] | None:
    """A number of the text whose square is the request, or all but a thousandth of it, in one type."""
    found = {
        (size, dtype): each.line
        for each in sizes
        for size in each.sizes[:1]
        for item, dtype in SQUARE_DTYPES
        if size >= LEAST_SQUARE_SIDE
        and odd_part(size) >= SQUARE_TELLING
        and 0 <= need - size * size * item <= need * _NEARLY
    }
    if len(found) != 1:
        return None
    (side, dtype), line = next(iter(found.items()))
    return side, dtype, line
