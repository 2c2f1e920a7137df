"""What a name in the input must never do to a terminal, a sheet or a document: letters that command instead
of being read are written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.patterns import regex

if TYPE_CHECKING:
    import re

_COMMANDS = regex(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ud800-\udfff]"
)
"""C0 and C1 controls (escape sequences begin with one), line and paragraph separators, letters that turn the
direction of writing, letters that are none, and halves of letters.
"""

_FORMULA = ("=", "+", "-", "@")
"""How a formula begins in the programs that open a CSV file."""


def visible(text: str) -> str:
    r"""The text with every letter that commands a terminal written out: `\x1b` for ESC, `\u202e` for a turn
    of direction. A text that went through this once stays as it is.
    """
    return _COMMANDS.sub(_written_out, text)


def inert(cell: str) -> str:
    """A cell of a sheet that no program takes for a formula: what begins like one gets an apostrophe."""
    text = visible(cell)
    return f"'{text}" if text[:1] in _FORMULA else text


def in_json(text: str) -> str:
    r"""A JSON text whose strings command nothing either: `\u202e` is the same letter to whoever reads it."""
    return _COMMANDS.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
