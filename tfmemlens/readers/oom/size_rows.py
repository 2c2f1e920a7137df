"""Rows that a program prints of memory in a layout of its own: `memory at batch 40 : 9.72 GB`.

A row counts where others have the same words, a counter that rises and a size with its unit. Whose memory it
is, the row says, or the code or prose that names what is printed (`psutil`, `BytesInUse`); else it is open.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import parse_size

_SIZE = regex(
    r"(?<![\w.])(?P<figure>\d{1,9}(?:\.\d{1,6})?)\s?(?P<unit>[KMG]i?B)\b(?!/)"
    r"|\b(?P<first>[KMG]i?B)s?\b[^\d\n]{0,24}(?<![\w.])(?P<behind>\d{1,9}(?:\.\d{1,6})?)\s*\Z"
)
_NUMBER = regex(r"\d+(?:\.\d+)?")
_DEVICE = regex(r"(?i)gpu|vram|cuda|device|bytes_?in_?use")
_HOST = regex(r"(?i)\b(?:rss|ram|resident|host|process|cpu)\b")
_EITHER = regex(r"(?i)\bmem\w{0,6}\b|\bin use\b|\bused?\b|\busage\b|\balloc")
_PRINTS_HOST = regex(r"\bpsutil\b|\bmemory_info\(\)|\bru_maxrss\b|\bvirtual_memory\(")
_PRINTS_DEVICE = regex(r"\b(?:Max)?BytesInUse\b|\bget_memory_info\(|\bmemory_stats\(")
_OTHER = regex(
    r"(?i)B/s\b|\b(?:chunks?|totalling|InUse|params?|download|files?|saved|written|tensor|layer|shard"
    r"|pool|bin|region|reserve|limit|rank|worker|process \d|gpu[: ]?\d(?![.\d])|device[: ]?\d(?![.\d])"
    r"|allocat(?:e|ing)\b)"
)
"""Rows of another kind: what is numbered there is no time, or the size is a file's."""
_LEAST, _LONGEST, _MOST_SERIES, _MOST_ROWS = 4, 120, 40, 400

Readings = tuple[tuple[int, Line], ...]


class Found(NamedTuple):
    """Readings by whose memory they are of; open ones stand in both."""

    device: Readings
    host: Readings


class SizeRows:
    """Collects such rows, by their words."""

    def __init__(self) -> None:
        self._series: dict[str, list[tuple[int, int, Line]]] = {}
        self._host = self._device = False

    def observe(self, line: Line) -> None:
        """Note the line if it has a counter and a size."""
        text = line.text
        self._host = self._host or _PRINTS_HOST.search(text) is not None
        self._device = self._device or _PRINTS_DEVICE.search(text) is not None
        if len(text) > _LONGEST or "B" not in text or _OTHER.search(text):
            return
        size, count = _SIZE.search(text), _NUMBER.search(text)
        if size is None or count is None or not count[0].isdigit():
            return
        if count.start() in (size.start("figure"), size.start("behind")):
            return
        words = " ".join(_NUMBER.sub("#", text).split())
        if words not in self._series and len(self._series) >= _MOST_SERIES:
            return
        series = self._series.setdefault(words, [])
        if len(series) < _MOST_ROWS:
            figure, unit = size["figure"] or size["behind"], size["unit"] or size["first"]
            series.append((int(count[0]), parse_size(f"{figure}{unit}").bytes, line))

    def found(self) -> Found:
        """The longest series whose counter rises."""
        words, rows = max(
            ((words, rows) for words, rows in self._series.items() if _counts(rows)),
            key=lambda each: len(each[1]),
            default=("", []),
        )
        readings = tuple((size, line) for _, size, line in rows)
        if _DEVICE.search(words):
            return Found(readings, ())
        if _HOST.search(words):
            return Found((), readings)
        if self._host != self._device:
            return Found((), readings) if self._host else Found(readings, ())
        return Found(readings, readings) if _EITHER.search(words) else Found((), ())


def _counts(rows: list[tuple[int, int, Line]]) -> bool:
    return len(rows) >= _LEAST and all(one[0] < other[0] for one, other in pairwise(rows))
