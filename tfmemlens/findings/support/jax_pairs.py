"""Arrays of values for every pair of rows, by what a followed program makes of them: the blocks go over the
rows that the result keeps, and a matrix product stands where the differences are squared alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfmemlens.findings.support.jax_code.changes import IN_BLOCKS
from tfmemlens.findings.support.jax_stores import that_fit
from tfmemlens.knowledge.jax_arrays import Followed, Noted
from tfmemlens.knowledge.jax_arrays.table import REDUCING
from tfmemlens.knowledge.jax_arrays.values import count
from tfmemlens.model.finding import Remedy
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human
from tfmemlens.values import replace

_LEAST_SIDE = 1000
_OF_VALUES = 3
_NAMED = regex(r"\A\s{0,40}(?P<name>\w{1,60})\s*=(?!=)")
_SQUARED = regex(r"\*\* ?2\b|\bsquare\(|\bnorm\(|\b(?P<one>\w{1,60}) \* (?P=one)\b")


def of_pairs(made: Noted, followed: Followed, remedies: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """The same remedies, with the rows that the blocks go over and how many fit."""
    sides = sorted((size for size in made.array.shape if size >= _LEAST_SIDE), reverse=True)[:2]
    if (
        made.name not in REDUCING | {"operator"}
        or len(sides) < len(("one", "other"))
        or IN_BLOCKS not in remedies
    ):
        return remedies
    later = _later(made, followed)
    blocks = _blocks(made, sides, later, followed)
    found = [blocks if each == IN_BLOCKS else each for each in remedies]
    product = next((each for each in found if each.slug == "matrix-product"), None)
    if product is None:
        return tuple(found)
    if not _are_squared_alone(made, later):
        found.remove(product)
    elif (left := _of_matrix(made, sides)) >= GIB and not made.gradient:
        found.remove(product)
        text = f"{product.text}; alone it leaves {human(left)} for the matrix of all pairs"
        found.append(replace(product, text=text))
    return tuple(found)


def _later(made: Noted, followed: Followed) -> list[Noted]:
    """What the same function, what it calls, and what called it make afterwards."""
    way = made.way[:-1]
    start = followed.arrays.index(made) + 1
    return [
        each
        for each in followed.arrays[start:]
        if each.way[: len(way)] == way or way[: len(each.way) - 1] == each.way[:-1]
    ]


def _blocks(made: Noted, sides: Sequence[int], later: Sequence[Noted], followed: Followed) -> Remedy:
    one, other = sides
    kept = {one, other} if one != other else set()
    ends: dict[int, Noted] = {}
    for each in later:
        left = kept & set(each.array.shape)
        if each.name in REDUCING and len(left) == 1:
            ends.setdefault(left.pop(), each)
    if len(ends) == 1:
        rows, end = next(iter(ends.items()))
        over = other if rows == one else one
        why = f", up to {end.line.place}, which reduces over the {over:,}{_name(over, followed)}"
        why += " and keeps these"
    else:
        rows, over, why = one, other, ", and reduce each block at once"
    few, takes = that_fit(made.array.bytes, rows, GIB)
    few = 1 << (few.bit_length() - 1)
    takes = few * (made.array.bytes // rows)
    return replace(
        IN_BLOCKS,
        text=f"go through the {rows:,}{_name(rows, followed)} in blocks{why}: {few:,} at a time take"
        f" {human(takes)}",
        code=f"y = jax.lax.map(f, x, batch_size={few})   # f of one of these rows against all {over:,}",
    )


def _name(size: int, followed: Followed) -> str:
    name = followed.names.get(size)
    return f" of `{name}`" if name else ""


def _of_matrix(made: Noted, sides: Sequence[int]) -> int:
    """The bytes of one value for each pair."""
    return made.array.bytes * sides[0] * sides[1] // max(count(made.array.shape), 1)


def _are_squared_alone(made: Noted, later: Sequence[Noted]) -> bool:
    """Whether the differences are of several values, which are squared and go into nothing else."""
    if len(made.array.shape) < _OF_VALUES:
        return False
    inside = [each for each in later if each.way[:-1] == made.way[:-1]]
    codes = [made.code, *(each.code for each in inside)]
    used_at_all = any(each.array.shape == made.array.shape for each in inside)
    if not any(_SQUARED.search(code) for code in codes):
        return not used_at_all and _plain_name(made) != ""  # what follows is not shown
    name = _NAMED.search(made.line.text)
    if name is None or name["name"] not in _plain_name(made):
        return True
    one = re.escape(name["name"])
    used = regex(rf"\b{one}\b")
    alone = regex(rf"\b{one} \*\* 2(?:\.0)?\b|\b{one} \* {one}\b|(?:square|norm)\({one}\b")
    return not any(used.search(alone.sub("", each.code)) for each in inside)


def _plain_name(made: Noted) -> str:
    """The name that the line gives to the array itself, where its whole right side is this array."""
    text = made.line.text.partition("=")
    whole = text[2].partition("#")[0].replace(" ", "") == made.code.replace(" ", "")
    return text[0] if whole else ""
