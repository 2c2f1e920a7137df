"""A quoted line asks for an array that no device holds, by the sizes that it states itself.

What it means: `tf.ones([1000000, 1000000])` is 3.64 TiB whatever else the program does. Text around such a
line that speaks of growth or of a full device tells of the same array.
When it fires: no message is quoted, words tell that memory ran out or grows, and a line of code makes an
array of literal sizes with 64 GiB and more (float32 in TensorFlow and JAX, float64 in NumPy, unless it says).
What to do: never make it: a scalar that broadcasts, a sparse matrix, some rows at a time.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.findings.support.xla_arena.facts import LARGEST_DEVICE
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import ITEM_BYTES
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human

BASIS = Basis.SHAPE
EXPLAINS = "no bytes: no failure's figures are quoted"

_LEAST = 64 * GIB
_NUMBER = r"(?:int\()?\d[\d_]{0,12}(?:\s?(?:\*\*|<<|\*)\s?\d{1,7}|e\d{1,2})?\)?"
_SIZES = rf"(?P<sizes>{_NUMBER}(?:\s*,\s*{_NUMBER}){{0,5}})\s*,?\s*"
_LIBRARY = (
    r"\b(?P<library>tf|np|numpy|jnp|jax\.numpy|jax\.random|random|tf\.random|np\.random|numpy\.random"
    r"|torch)\."
)
_MAKES = (
    regex(
        rf"{_LIBRARY}(?P<call>ones|zeros|full|fill|empty|normal|uniform|truncated_normal|randint|random"
        r"|random_normal|random_uniform|standard_normal)"
        r"\((?:[^()\[\]\n]{0,60}\b(?:size|shape|dims) ?= ?|(?:[\w.-]{1,20}\s*,\s*){0,3})[\[(]"
        rf"{_SIZES}[\])]"
    ),
    regex(rf"{_LIBRARY}(?P<call>constant)\([^()\[\]\n]{{0,60}}\bshape ?= ?[\[(]{_SIZES}[\])]"),
    regex(rf"{_LIBRARY}(?P<call>rand|randn|eye|identity)\((?:[NM] ?= ?)?{_SIZES}(?=[,)])"),
    regex(rf"{_LIBRARY}(?P<call>ones|zeros|empty|full|arange)\((?P<sizes>{_NUMBER})\s*(?=[,)])"),
)
"""Sizes in brackets, those of a constant that is filled, and the two that stand without any."""
_SQUARE = ("eye", "identity")
_LONGEST = 60
_MOST = 10**13
"""The largest size along one axis that anybody states."""
_TYPE = regex(r"\b(?P<type>float(?:16|32|64)|bfloat16|u?int(?:8|16|32|64)|bool|complex(?:64|128))\b")
_IN_WORDS = (
    *("running short", "growing in words", "much memory in words", "killed in words"),
    "hanging in words",
)


class Literal(NamedTuple):
    """The call, its sizes and what they take."""

    call: str
    sizes: tuple[int, ...]
    bytes: int
    line: Line


def check(case: Case) -> Iterator[Finding]:
    told = case.capture.surroundings
    if case.moments or told.foreign or told.elsewhere or not any(map(told.shows, _IN_WORDS)):
        return
    made = max(_literals(code_lines(told)), key=lambda each: each.bytes, default=None)
    if made is None or made.bytes < _LEAST:
        return
    beyond = "more than any device has" if made.bytes > LARGEST_DEVICE else "as much as few devices have"
    what = (
        f"`{made.call}` ({made.line.place}) makes {' x '.join(f'{size:,}' for size in made.sizes)} numbers,"
        f" {human(made.bytes)}, {beyond}, whatever else the program does"
    )
    rows = GIB * made.sizes[0] // made.bytes
    some = f"{rows:,} at a time (up to 1 GiB)" if rows else "a part at a time"
    yield Finding(
        severity=Severity.FACTOR,
        headline=what,
        because=what,
        evidence=(Evidence("the line", made.line),),
        remedies=(
            Remedy(
                "do not make it: where it is a constant, let a scalar broadcast; where most of it is 0, keep"
                f" it sparse; else go through its rows, {some}, and keep what you need of each part",
                slug="in-blocks",
            ),
        ),
    )


def _literals(code: Iterable[Line]) -> Iterator[Literal]:
    """The calls that make an array of sizes which stand in the line."""
    for line in code:
        for match in (each for pattern in _MAKES for each in pattern.finditer(line.text)):
            sizes = tuple(map(_number, match["sizes"].split(",")))
            if max(sizes) > _MOST:
                continue  # a slip of the writer's, or no size
            sizes = sizes * 2 if match["call"] in _SQUARE and len(sizes) == 1 else sizes
            end = _end_of_the_call(line.text, match)
            stated = _TYPE.search(line.text, match.end("sizes"), end)
            usual = "float64" if match["library"].startswith(("np", "numpy")) else "float32"
            item = ITEM_BYTES[stated["type"] if stated else usual]
            call = line.text[match.start() : end]
            short = call if len(call) <= _LONGEST else f"{match[0]}, ...)"
            yield Literal(short, sizes, item * math.prod(sizes), line)


def _number(text: str) -> int:
    """Of `1_000_000`, `10**6`, `1 << 20`, `1000*1000`, `int(1e6)`."""
    plain = text.strip().removeprefix("int(").rstrip(")").replace("_", "").replace(" ", "")
    for sign, joined in (("**", _power), ("<<", _shifted), ("*", operator.mul)):
        first, found, second = plain.partition(sign)
        if found:
            return joined(int(first), int(second))
    first, found, second = plain.partition("e")
    return int(first) * 10 ** int(second) if found else int(first)


_MOST_BITS = 64


def _power(base: int, exponent: int) -> int:
    """At most what a size can be: a slip may state any exponent."""
    return int(min(base, 1 << 20) ** min(exponent, _MOST_BITS))


def _shifted(base: int, bits: int) -> int:
    return base << min(bits, _MOST_BITS)


def _end_of_the_call(text: str, match: re.Match[str]) -> int:
    """Where the bracket that the call opens is closed; the end of the line where that is elsewhere."""
    depth = 0
    for index in range(match.end("call"), len(text)):
        depth += (text[index] in "([") - (text[index] in ")]")
        if depth == 0:
            return index + 1
    return len(text)
