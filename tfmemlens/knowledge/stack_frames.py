"""Whose code a frame of a stack lies in: the user's own or a library's."""

from __future__ import annotations

import re

from tfmemlens.patterns import regex

__all__ = ["user_frame"]

_LIBRARY = regex(
    r"(?:site|dist)-packages|/lib/python\d|\\lib\\(?!.*train)|<frozen|<string>|tensorflow[/\\]python"
    r"|runpy\.py"
    r"|importlib|bazel-out|\.runfiles|ipykernel[/\\]|tornado[/\\]|traitlets|keras[/\\](?:engine|src"
    r"|utils|layers)"
    r"|\.py[xd]\b|\.egg[/\\]|(?<![a-z])egg[/\\]|asyncio|multiprocessing|threading\.py|abc\.py|contextlib",
    re.IGNORECASE,
)


def user_frame(place: str) -> bool:
    """Whether a frame's file, or its `file:line`, is the user's own code rather than a library's."""
    return not _LIBRARY.search(place)
