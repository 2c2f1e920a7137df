"""The tensor that failed, where whoever asks tells it in his own words and quotes no message."""

from __future__ import annotations

from math import prod

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.readers.oom.purpose import SHORT
from tfmemlens.readers.oom.sentence import OomMessage

_NAMED = regex(
    r"(?i)(?:\btens[oe]u?re?s?\b|\balloc\w+|\u5f20\u91cf|\u5f35\u91cf|\u5206\u914d|\u30c6\u30f3\u30bd\u30eb"
    r"|\ud150\uc11c|\u0442\u0435\u043d\u0437\u043e\u0440\w*)[^.\u3002\n\[(]{0,40}"
    r"[\[(] ?(?P<shape>\d{1,9}(?:, ?\d{1,9}){1,5}),? ?[\])]"
)
"""`the tensor [1,16,512,512]`, `allocate a tensor of shape (8, 512, 512, 3)`, in Chinese, Japanese, Korean,
Russian, Spanish, French and German as well.
"""
_SQUARE = regex(
    r"(?i)\b(?:array|matri(?:x|ces)|tensor|distances?)\b[^.\n]{0,40}?"
    r"\b(?P<rows>\d{4,7}) ?[x\u00d7*] ?(?P<columns>\d{4,7})\b"
)
"""`an array with the shape of 50000 x 50000`: two numbers of thousands."""
_FAILS = regex(
    r"(?i)\balloc\w+[^.\n]{0,60}\b(?:fail\w*|errors?|crash\w*)"
    r"|\b(?:fail\w*|can ?not|can't|could(?: not|n't)|unable|crash\w*)[^.\n]{0,60}\balloc\w+"
    r"|\b(?:memory|gpu|card|RAM)\b[^.\n]{0,30}\bcan(?:'?t| ?not)\b[^.\n]{0,20}\b(?:handle|hold|fit|store)\b"
)
_INPUT = regex(
    r"(?i)\binputs?\b|\u8f93\u5165|\boutput shape\b|\bplaceholder\b"
    r"|\.?(?:predict|evaluate|fit)\b[`()]{0,3} (?:on|with) "
)
"""What goes in, which is not what failed."""
_LEAST_NUMBERS = 1 << 16


def told_tensor(line: Line) -> OomMessage | None:
    """The tensor that a line of prose says found no room, with all but its shape unknown."""
    text = line.text
    if not (SHORT.search(text) or _FAILS.search(text)):
        return None
    match = _NAMED.search(text) if "," in text else None
    square = None if match else _SQUARE.search(text)
    told = match or square
    if told is None or _INPUT.search(text, 0, told.end()):
        return None
    sizes = match["shape"].split(",") if match else told.group("rows", "columns")
    shape = tuple(int(size) for size in sizes)
    if not all(shape) or prod(shape) < _LEAST_NUMBERS:
        return None
    return OomMessage(line, shape=shape, in_words=True)
