"""The calls of an input pipeline that keep elements in RAM, in lines of a program."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfmemlens.patterns import regex

KEEPS_ELEMENTS = regex(r"(?P<cache>\.cache\(\s*\))|\.shuffle\(\s*(?:buffer_size\s*=\s*)?(?P<buffer>\d[\d_]*)")


def kept_by(match: re.Match[str]) -> str:
    """The call as the program has it: `cache()`, `shuffle(2000)`."""
    return "cache()" if match["cache"] else f"shuffle({match['buffer']})"


def calls_that_keep(texts: Iterable[str]) -> list[str]:
    """Those of some lines, each once."""
    found = (KEEPS_ELEMENTS.search(text) for text in texts)
    return [*dict.fromkeys(kept_by(match) for match in found if match)]
