"""Counters that a program prints without a word that says so: `40 0.0011`, `clip 12 of 300 done`.

A line counts where lines of the same words have numbers that rise by the same step. Bare numbers must have a
loss or the like beside them; rows of a table are numbered one by one, so that of these more are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_COUNTER = regex(
    r"\A[^\w.]{0,6}(?P<label>(?:[A-Za-z_]{1,20}[ :#=\[(]{1,3}){0,3})(?P<count>\d{1,7})(?:(?:/| of )\d{1,7})?"
    r"(?![\w.%]|[-/:,]\d)(?P<rest>.{0,160})\Z"
)
_NUMBER = regex(r"(?i)[-+]?\d[\d,]*(?P<point>\.\d*)?(?:e[-+]?\d+)?|\b(?:nan|inf)\b")
_VALUE = regex(r"(?:tf\.Tensor\(|shape=\(\)|dtype=float\d*|[^\w#]|#)*")
_PARTS = frozenset(
    "gpu gpus cpu device rank worker core tpu replica node process pid thread host server task layer block"
    " bin chunk line page table figure version question answer part option case example note size".split()
)
"""What is numbered and does not follow in time."""
_LEAST, _LEAST_ROWS, _LEAST_LABELLED = 3, 6, 4
_MOST_SERIES, _MOST_LINES = 100, 4000

Counted = tuple[int, Line]


class Counters:
    """Collects lines that may be a counter's, by what else they say."""

    def __init__(self) -> None:
        self._series: dict[str, list[Counted]] = {}

    def observe(self, line: Line) -> None:
        """Note the line if it begins with a number, or with words and a number."""
        match = _COUNTER.match(line.text)
        if match is None:
            return
        label, rest = match["label"].lower(), match["rest"]
        if not label and not _is_of_a_loop(rest):
            return
        if not _PARTS.isdisjoint(label.replace("_", " ").strip(" :#=[(").split()):
            return
        words = f"{label}#{_NUMBER.sub('#', rest)}"
        if words not in self._series and len(self._series) >= _MOST_SERIES:
            del self._series[min(self._series, key=lambda each: len(self._series[each]))]
        series = self._series.setdefault(words, [])
        series.append((int(match["count"]), line))
        if len(series) > _MOST_LINES:
            del series[: _MOST_LINES // 2]

    def steps(self) -> tuple[Counted, ...]:
        """The longest series that rises evenly at its end."""
        return max((_evenly(words, series) for words, series in self._series.items()), key=len, default=())


def _is_of_a_loop(rest: str) -> bool:
    """Whether numbers follow a bare number, one of them no whole one."""
    points = any(number["point"] for number in _NUMBER.finditer(rest))
    return points and _VALUE.fullmatch(_NUMBER.sub("#", rest)) is not None


def _evenly(words: str, series: Sequence[Counted]) -> tuple[Counted, ...]:
    """The end of a series whose numbers rise by the same step; nothing where it is short."""
    if len(series) < _LEAST:
        return ()
    step = series[-1][0] - series[-2][0]
    first = len(series) - 1
    while first > 0 and series[first][0] - series[first - 1][0] == step:
        first -= 1
    even = tuple(series[first:])
    return even if step > 0 and len(even) >= _least(words, step) else ()


def _least(words: str, step: int) -> int:
    """How many lines show that they are a counter's."""
    if not words.startswith("#"):
        return _LEAST_LABELLED
    return _LEAST_ROWS if step == 1 else _LEAST
