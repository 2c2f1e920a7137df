"""Rows of a Markdown table that state a setting each: `| batch size | 64 |` says `batch size: 64`."""

from __future__ import annotations

from tfmemlens.patterns import regex

_ROW = regex(
    r"\A\s*\|\s*[*`]{0,2}(?P<name>[^|*`\n]{1,40}?)[*`]{0,2}\s*"
    r"\|\s*`{0,2}(?P<value>[^|`\n]{1,60}?)`{0,2}\s*\|?\s*\Z"
)


def as_setting(text: str) -> str:
    """The row as a line of settings would have it; any other line as it is."""
    row = _ROW.match(text) if "|" in text[:8] else None
    return f"{row['name']}: {row['value']}" if row else text
