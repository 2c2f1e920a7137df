"""How much to show, and with which letters."""

from __future__ import annotations

from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class View:
    """What a reader of a page asked for."""

    top: int = 8
    by: str | None = None
    all_moments: bool = False
    full: bool = False
    """Everything that is known, instead of one screen."""
    width: int = 80
    color: bool = False
    unicode: bool = True


UNICODE_TO_ASCII = str.maketrans(
    {
        "█": "#",
        "▓": "=",
        "▒": "+",
        "░": ".",
        "■": "%",
        "◆": "*",
        "·": ".",
        "─": "-",
        "│": "|",
        "…": "~",
        "×": "x",
        "→": ">",
        "≈": "~",
        "✓": "+",
    }
    | {"▁": ".", "▂": ":", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%", "▲": "^", "•": "-"}
)
"""Fallback for terminals that cannot show the letters we draw with."""
