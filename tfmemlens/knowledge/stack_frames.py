"""Whose code a frame of a stack lies in: the user's own or a library's."""

from __future__ import annotations

import os
import re

from tfmemlens.patterns import regex

__all__ = ["number_in", "user_frame"]

_LIBRARY = regex(
    r"(?:site|dist)-packages|/lib/python\d|\\lib\\(?!.*train)|<frozen|<string>|tensorflow[/\\]python"
    r"|runpy\.py"
    r"|importlib|bazel-out|\.runfiles|ipykernel[/\\]|tornado[/\\]|traitlets|keras[/\\](?:engine|src"
    r"|utils|layers)"
    r"|\.py[xd]\b|\.egg[/\\]|(?<![a-z])egg[/\\]|asyncio|multiprocessing|threading\.py|abc\.py|contextlib",
    re.IGNORECASE,
)


def number_in(place: str | None, file: str | None) -> int | None:
    """30 of `nets/train.py:30`, where the file is `train.py`."""
    path, _, number = (place or "").rpartition(":")
    return int(number) if number.isdecimal() and os.path.basename(path) == file else None


def user_frame(place: str) -> bool:
    """Whether a frame's file, or its `file:line`, is the user's own code rather than a library's."""
    return not _LIBRARY.search(place)
