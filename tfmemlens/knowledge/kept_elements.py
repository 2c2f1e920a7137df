"""The calls of an input pipeline that keep elements in RAM, in lines of a program."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tfmemlens.knowledge.input_queues import Bound
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

KEEPS_ELEMENTS = regex(r"(?P<cache>\.cache\(\s*\))|\.shuffle\(\s*(?:buffer_size\s*=\s*)?(?P<buffer>\d[\d_]*)")


def kept_by(match: re.Match[str]) -> str:
    """The call as the program has it: `cache()`, `shuffle(2000)`."""
    return "cache()" if match["cache"] else f"shuffle({match['buffer']})"


_SHUFFLES = regex(
    r"(?<!random)(?<!rng)(?<!rnd)\.shuffle\(\s*(?:buffer_size\s*=\s*)?"
    r"(?P<size>[A-Za-z_][\w.]{0,40}(?:\([\w.]{0,40}\))?)\s*[,)]"
)
"""A buffer whose size a name tells: `.shuffle(len(ids))`, `.shuffle(buffer_size=MANY, seed=1)`."""


def call_that_keeps(text: str) -> str | None:
    """The call of a line that keeps elements; None where it has none."""
    if match := KEEPS_ELEMENTS.search(text):
        return kept_by(match)
    named = _SHUFFLES.search(text)
    return f"shuffle({named['size']})" if named else None


def size_of_a_shuffle(text: str) -> str | None:
    """The name that tells the size of a line's shuffle buffer, `BUFFER` of `cfg.BUFFER`, too."""
    named = _SHUFFLES.search(text)
    return named["size"].rpartition(".")[2] if named else None


def calls_that_keep(texts: Iterable[str]) -> list[str]:
    """Those of some lines, each once."""
    found = (call_that_keeps(text) for text in texts)
    return [*dict.fromkeys(call for call in found if call)]


_PREFETCHES = regex(
    r"\.prefetch\(\s*(?:buffer_size\s*=\s*)?(?:(?P<number>\d[\d_]*)|(?P<name>[A-Za-z_][\w.]{0,60}))\s*[,)]"
)
_IS_NUMBER = regex(r"\A\s*(?P<name>[A-Za-z_]\w{0,60})\s*=\s*(?P<number>\d[\d_]{0,11})\s*(?:#|\Z)")
_LEAST_AHEAD = 8
"""Fewer batches that wait are little beside a step."""


class Ahead(NamedTuple):
    """A call that makes batches before they are asked for, and how many of them may wait."""

    call: str
    """`prefetch(READY)`, as the program has it."""
    line: Line
    room: Bound


def prefetched(lines: Iterable[Line], least: int = _LEAST_AHEAD) -> Ahead | None:
    """The longest prefetch of a program, by a number or by a name that one line gives a number; of fewer than
    eight also one of which TensorFlow tells the number (`AUTOTUNE`), whose room nobody knows.
    """
    lines = tuple(lines)
    numbers: dict[str, list[tuple[int, Line]]] = {}
    for line in lines:
        if given := _IS_NUMBER.match(line.text):
            numbers.setdefault(given["name"], []).append((int(given["number"].replace("_", "")), line))
    found = list[Ahead]()
    for line in lines:
        match = _PREFETCHES.search(line.text)
        if match is None:
            continue
        if match["number"]:
            room = Bound(int(match["number"].replace("_", "")))
        elif len(named := numbers.get(match["name"], [])) == 1:
            room = Bound(named[0][0], match["name"], named[0][1])
        elif least < _LEAST_AHEAD and not named:
            room = Bound(None)
        else:
            continue
        found.append(Ahead(f"prefetch({match['number'] or match['name']})", line, room))
    longest = max(found, key=lambda each: each.room.value or 0, default=None)
    return longest if longest and (longest.room.value or least) >= least else None
