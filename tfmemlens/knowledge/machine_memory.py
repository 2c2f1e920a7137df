"""How much RAM a rented machine or a small board has, by the name that its owner gives it."""

from __future__ import annotations

from tfmemlens.patterns import regex
from tfmemlens.units import GIB, MIB

_OF_T = {"nano": 0.5, "micro": 1, "small": 2, "medium": 4, "large": 8, "xlarge": 16, "2xlarge": 32}
_OF_C = {"large": 4, "xlarge": 8, "2xlarge": 16, "4xlarge": 32}
_OF_M = {"large": 8, "xlarge": 16, "2xlarge": 32, "4xlarge": 64}
_OF_AWS = {
    **dict.fromkeys(("t2", "t3", "t3a", "t4g"), _OF_T),
    **dict.fromkeys(("m5", "m5a", "m6i", "m6g"), _OF_M),
    **dict.fromkeys(("c5", "c5a", "c6i", "c6g"), _OF_C),
    "g4dn": {"xlarge": 16, "2xlarge": 32, "4xlarge": 64},
    "p2": {"xlarge": 61},
    "p3": {"2xlarge": 61},
}
_OF_OTHERS = {
    "f1-micro": 0.6, "g1-small": 1.7, "e2-micro": 1, "e2-small": 2, "e2-medium": 4,
    "n1-standard-1": 3.75, "n1-standard-2": 7.5, "n1-standard-4": 15, "e2-standard-2": 8,
}  # fmt: skip
_DYNO = regex(
    r"(?i)\b(?:free|hobby|basic|eco|standard-1x) dynos?\b|\b(?P<size>\d{3,4}) ?MB (?:\w+ )?dynos?\b"
    r"|\bdynos?\b[^.;\n]{0,30}?\b(?P<of>\d{3,4}) ?MB\b"
)
_AWS = regex(r"(?i)\b(?P<family>[tmcgp]\d[a-z]{0,2})\.(?P<size>nano|micro|small|medium|\d?x?large)\b")
_OTHERS = regex(rf"(?i)\b(?:{'|'.join(_OF_OTHERS)})\b")
_BOARD = regex(
    r"(?i)(?<![\w.])(?:(?:raspberry ?)?pi ?(?P<zero>zero)\b|(?:raspberry ?pi|rpi|pi) ?[23](?! ?[GM]B)\b"
    r"|(?:raspberry ?pi|rpi|pi) ?3 ?(?:model )?[ab]\+?)"
)
_DYNO_MIB, _ZERO_GIB, _OLD_PI_GIB = 512, 0.5, 1


def machine(text: str) -> tuple[str, int] | None:
    """What the text calls its machine, and the bytes of its RAM; None where it names none that is known."""
    if match := _AWS.search(text):
        size = _OF_AWS.get(match["family"].lower(), {}).get(match["size"].lower())
        return (match[0], int(size * GIB)) if size else None
    if match := _OTHERS.search(text):
        return match[0], int(_OF_OTHERS[match[0].lower()] * GIB)
    if match := _DYNO.search(text):
        return "a dyno", int(match["size"] or match["of"] or _DYNO_MIB) * MIB
    if match := _BOARD.search(text):
        return match[0], int((_ZERO_GIB if match["zero"] else _OLD_PI_GIB) * GIB)
    return None
