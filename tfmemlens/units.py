"""Bytes: the only place where they are parsed and printed.

TensorFlow prints sizes with `HumanReadableNumBytes`: exact below 1 KiB, one decimal for KiB, two from MiB up,
and it truncates on the way. A figure read from a log is therefore an interval, and `Size` carries it.
"""

from __future__ import annotations

import math
import re

from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ALIGNMENT = 256
"""BFC hands out multiples of this many bytes (`BFCAllocator::kMinAllocationSize`)."""

_LETTERS = "KMGTPE"
_FIGURE = regex(r"(-?\d+(?:\.(\d+))?)\s?([KMGTPE]?)(i?)B?\Z")

IMPOSSIBLE = 1 << 60
"""No memory has an exbibyte: such a figure is a counter that ran over, or lost its sign, in 64 bits."""
_MOST = 2.0**64
"""No counter holds more: digits beyond it are damage."""


@dataclass(frozen=True, slots=True)
class Size:
    """A byte count with its error bar: the true value lies in [low, high]."""

    bytes: int
    low: int
    high: int

    @classmethod
    def exactly(cls, count: int) -> Size:
        """A byte count known to the byte."""
        return cls(count, count, count)

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded away."""
        return self.low == self.high

    @property
    def error_bytes(self) -> int:
        """The largest distance between `bytes` and the true value."""
        return max(self.bytes - self.low, self.high - self.bytes)

    @property
    def impossible(self) -> bool:
        """Whether no memory has so much: less than nothing, or an exbibyte."""
        return not 0 <= self.bytes < IMPOSSIBLE

    def may_be(self, count: int) -> bool:
        """Whether the printed figure can stand for this byte count."""
        return self.low <= count <= self.high

    def __add__(self, other: Size) -> Size:
        return Size(self.bytes + other.bytes, self.low + other.low, self.high + other.high)


def parse_size(text: str, multiple_of: int = 1) -> Size:
    """A size as TensorFlow and XLA print it (`512B`, `3.0KiB`, `450.14MiB`), as the interval it stands for.

    `multiple_of=256` narrows the figure to what an allocator can hold: every KiB figure becomes exact. TPU
    listings (`32.00G`) are the same binary units without `iB`; CUDA's driver prints `10.91G`. Raises
    ValueError.
    """
    match = _FIGURE.match(text.strip())
    if not match:
        raise ValueError(f"not a size: {text!r}")
    figure = max(-_MOST, min(float(match[1]), _MOST))
    decimals, letter = len(match[2] or ""), match[3]
    power = _LETTERS.find(letter) + 1 if letter else 0
    if power == 0 and decimals == 0:
        return Size.exactly(int(match[1]) if abs(figure) < _MOST else int(figure))
    return _interval(figure, decimals, power, multiple_of)


def _interval(figure: float, decimals: int, power: int, multiple_of: int) -> Size:
    """HumanReadableNumBytes divides by 1024 as integers until the last step, so the last step alone
    rounds.
    """
    half = 0.5 * 10.0**-decimals
    scale = 1024 if power else 1
    lost_bits = 10 * max(power - 1, 0)
    low = math.ceil((figure - half) * scale) << lost_bits
    high = (
        ((math.floor((figure + half) * scale) + 1) << lost_bits) - 1
        if lost_bits
        else math.floor((figure + half) * scale)
    )
    nearest = round(figure * scale * (1 << lost_bits))
    if multiple_of > 1:
        low, high = -(-low // multiple_of) * multiple_of, high // multiple_of * multiple_of
        nearest = round(nearest / multiple_of) * multiple_of
    if low > high:  # another printer than TensorFlow's: keep the figure as it stands
        low = high = nearest
    return Size(min(max(nearest, low), high), low, high)


def parse_limit(text: str) -> int:
    """What a user types for a limit: `8GiB`, `11G`, `8192MB` or plain bytes, all units binary; a lone `11`
    means no bytes. Raises ValueError.
    """
    match = re.match(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B?)\s*\Z", text, re.IGNORECASE)
    if not match:
        raise ValueError(f"not a size: {text!r} (write 8GiB, 512MiB or a number of bytes)")
    if not match[2] and "b" not in text.lower() and 0 < float(match[1]) < KIB:
        raise ValueError(f"{text.strip()} of what? write {text.strip()}GiB or {text.strip()}MiB")
    return int(float(match[1]) * 1024 ** ("KMGT".find(match[2].upper()) + 1 if match[2] else 0))


def as_bytes(size: int | str | None) -> int | None:
    """A limit as Python code gives it: bytes, or a text such as "11GiB". Raises ValueError."""
    return None if size is None else parse_limit(str(size))


def human(count: int | float) -> str:
    """A byte count for people: `512 B`, `3.0 KiB`, `450.14 MiB`, `60.25 GiB`."""
    if count < 0:
        return "-" + human(-count)
    if count < KIB:
        return f"{round(count)} B"
    power = min(int(math.log(count, 1024)), len(_LETTERS))
    if round(count / 1024**power, 2 if power > 1 else 1) >= 1024 and power < len(_LETTERS):
        power += 1
    return f"{count / 1024**power:.{1 if power == 1 else 2}f} {_LETTERS[power - 1]}iB"


def rough(count: int, digits: int = 2) -> str:
    """A figure for people with so many digits at most: `590 MiB`, `1.2 GiB`; with three `83.4 MiB`."""
    power = min(int(math.log(count, 1024)), len(_LETTERS)) if count >= KIB else 0
    value = count / 1024**power
    whole = len(str(int(value)))
    shown = round(value, digits - whole)
    decimals = max(digits - len(str(int(shown))), 0) if power else 0
    return f"{shown:.{decimals}f} {_LETTERS[power - 1] + 'iB' if power else 'B'}"


def human_size(size: Size) -> str:
    """The same for a figure with an error bar: `about` marks what the input had rounded."""
    return human(size.bytes) if size.exact else f"about {human(size.bytes)}"


def square_side(size: int, item: int) -> int | None:
    """The n of n x n items of so many bytes that are `size` bytes; None where they are no square."""
    side = math.isqrt(size // item)
    return side if side * side * item == size else None


def round_up(count: int, multiple_of: int = ALIGNMENT) -> int:
    """What BFC is really asked for: the request rounded up to its alignment (0 stays 0)."""
    return -(-count // multiple_of) * multiple_of


def percent(part: float, whole: float) -> str:
    """A share for people: `60 %`; `<1 %` rather than a false zero."""
    if whole <= 0:
        return "-"
    share = 100 * part / whole
    if 0 < share < 1:
        return "<1 %"
    return f"{share:.0f} %"
