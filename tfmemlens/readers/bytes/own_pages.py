"""HTML that tfmemlens wrote itself: it quotes logs, and is none."""

from __future__ import annotations

from tfmemlens.patterns import regex

HEAD = 1 << 16
"""Bytes at the start of a file among which the mark stands."""
_GENERATOR = regex(rb'<meta\s+name="?generator"?\s+content="?tfmemlens\b')
"""Every page says what made it; browsers that save a page may drop the quotes."""


def is_page(head: bytes) -> bool:
    """Whether a file that begins like this is a page of ours."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
    return start.startswith((b"<!doctype html", b"<html", b"<!--")) and bool(_GENERATOR.search(head))
