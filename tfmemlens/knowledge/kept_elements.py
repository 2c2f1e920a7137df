"""The calls of an input pipeline that keep elements in RAM, in lines of a program."""

from __future__ import annotations

import re
from collections.abc import Iterable

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


def calls_that_keep(texts: Iterable[str]) -> list[str]:
    """Those of some lines, each once."""
    found = (call_that_keeps(text) for text in texts)
    return [*dict.fromkeys(call for call in found if call)]
