"""A quoted line asks for an array that no device holds, by the sizes that it states itself.

What it means: `tf.ones([1000000, 1000000])` is 3.64 TiB whatever else the program does. Text around such a
line that speaks of growth or of a full device tells of the same array.
When it fires: no message is quoted, words tell that memory ran out or grows, and a line of code makes an
array of literal sizes with 64 GiB and more (float32 in TensorFlow and JAX, float64 in NumPy, unless it says).
What to do: never make it: a scalar that broadcasts, a sparse matrix, some rows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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
_MAKES = regex(
    r"\b(?P<library>tf|np|numpy|jnp|jax\.numpy|jax\.random|tf\.random|np\.random|torch)\."
    r"(?P<call>ones|zeros|full|empty|eye|normal|uniform|rand|randn|random_normal|random_uniform)"
    r"\((?:key, ?)?(?:size ?= ?|shape ?= ?|low ?= ?)?[\[(]{0,2}\s*"
    r"(?P<sizes>\d[\d_]{0,12}(?:\s*,\s*\d[\d_]{0,12}){0,5})\s*(?:,?\s*[\])]|(?=,\s*[a-z]))"
)
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


def _literals(code: Iterator[Line] | tuple[Line, ...]) -> Iterator[Literal]:
    """The calls that make an array of sizes which stand in the line."""
    for line in code:
        for match in _MAKES.finditer(line.text):
            sizes = tuple(int(size.replace("_", "")) for size in match["sizes"].split(","))
            sizes = sizes * 2 if match["call"] == "eye" and len(sizes) == 1 else sizes
            stated = _TYPE.search(line.text, match.end())
            usual = "float64" if match["library"].startswith(("np", "numpy")) else "float32"
            item = ITEM_BYTES[stated["type"] if stated else usual]
            call = match[0] + ")" * (match[0].count("(") - match[0].count(")"))
            yield Literal(call, sizes, item * math.prod(sizes), line)
