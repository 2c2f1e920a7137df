"""What consoles, notebooks, editors, reviews and diffs put before a line of code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

LONGEST = 400


class UnmarkedLine(NamedTuple):
    """A line without the marks before its code."""

    text: str
    line: Line
    of_frame: bool = False
    begins: bool = False
    """Whether a console's prompt says that a statement begins here."""
    number: int | None = None
    """The number that an editor or a notebook gives the line."""


_PROMPT = regex(r"\A\s*(?:>>> ?|In ?\[ ?\d{0,6}\]: ?)")
_MORE = regex(r"\A\s*(?:\.\.\. (?=\s*\S)|\.{3,8}: ?)")
_NUMBER = regex(
    r"\A\s{0,12}(?:-{1,9}> ?)?(?P<number>\d{1,5})(?:\s?[|:\u2502]|(?=\s)|\Z)(?P<code>.*)\Z", flags=0
)
_ARROW = regex(r"\A\s*-{2,9}> ?\d")
_DIFF = regex(r"\A[+](?![+\d])(?P<code>.*)\Z")
_REMOVED = regex(r"\A-(?![->\d ]) {0,40}\S|\A- {3,40}\S")
_FRAME = regex(r"\A\s*File \S.{0,300}, line \d|\A\S{1,200}\.py:\d{1,6}: in ")
_CELL = regex(r"\A\s*(?:<ipython-input-\S|Cell In ?\[?|Input In ?\[|/\S{1,200}\.py(?::\d+,)? in )")
_TICKED = regex(r"\A(?P<indent>\s*)`(?P<code>[^`\s][^`]{2,300})`\s*\Z")
"""A line that is nothing but one piece of code between ticks."""
_FENCE = regex(r"\A\s*(?:`{3,}|~{3,})")


def without_marks(lines: Sequence[Line]) -> list[UnmarkedLine]:
    """The lines as rows of code may stand in them; fences and headers of frames are gone."""
    numbered = _numbered(lines)
    return list(_rows(lines, numbered))


def _rows(lines: Sequence[Line], numbered: set[int]) -> Iterator[UnmarkedLine]:
    left, cell, last = 0, False, 0
    for index, line in enumerate(lines):
        text = line.text[:LONGEST].expandtabs(4).rstrip()
        if _FENCE.search(text):
            cell = False
            continue
        if _FRAME.search(text):
            left, last = 2, line.number
            continue
        if _CELL.search(text):
            cell, last = True, line.number
            continue
        in_frame = left > 0 and line.number == last + 1 and text[:1] in " >E"
        cell = cell and (index in numbered or line.number == last + 1)
        left, last = (left - 1 if in_frame else 0), line.number
        if index in numbered and (match := _NUMBER.search(text)):
            yield UnmarkedLine(match["code"], line, cell or in_frame, number=int(match["number"]))
        elif match := _PROMPT.search(text):
            yield UnmarkedLine(text[match.end() :], line, begins=True)
        elif match := _MORE.search(text):
            yield UnmarkedLine(text[match.end() :], line)
        elif match := _DIFF.search(text):
            yield UnmarkedLine(match["code"], line)
        elif match := _TICKED.search(text):
            yield UnmarkedLine(match["indent"] + match["code"], line, in_frame)
        elif not _REMOVED.search(text):
            yield UnmarkedLine(text, line, in_frame)


def _numbered(lines: Sequence[Line]) -> set[int]:
    """The indices of lines whose first number counts them: the next line has the next number."""
    numbers = [
        int(match["number"]) if (match := _NUMBER.search(line.text[:LONGEST])) else None for line in lines
    ]
    numbered: set[int] = set()
    for one, other in pairwise(range(len(lines))):
        first, second = numbers[one], numbers[other]
        if first is not None and second is not None and second - first in (1, 2):
            numbered |= {one, other}
    return numbered | {index for index, line in enumerate(lines) if _ARROW.search(line.text[:LONGEST])}
