"""How a screen or a mailer broke the lines of a text, found from the lines themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tfmemlens.patterns import regex

Continues = Callable[[str], bool]
LOST = "\u2026"
"""What stands for a word that has lost letters: no figure is read from it."""

_MIN_WIDTH = 40
_MOST_LOST = 6
_MAX_LINES_JUDGED = 3000
"""So many lines tell whether letters are gone."""
_KINDS_CHOPPED = 4
_DIGITS = regex(r"\d")
_SCREENS = (80, 100, 120, 132)
"""Widths that screens have: two broken lines tell one of these."""
_WORDS_BELOW = 125
"""Wider than this nobody breaks between words."""
_ARROW = regex(r"\s*[↪↳»] ?")
_INDENT = regex(r"[ \t]{1,8}(?=\S)")
_END_MARKS = "-\\↩↵⏎¬"
_FRAME = regex(r"\s*File \"[^\"]+\", line \d+(?:, in \S+)?\Z")
"""A frame's own line, whole: the code that follows is moved in as well."""
_BORDER = "│┃║|"
_TIME = regex(r"\s*\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?\]?(?: [\w.-]+:)?\s*")
_FEWEST = 5
"""Fewer lines tell no habit."""


_OF_A_SHELL = regex(
    r"\s*(?:Killed|Terminated|Aborted|Bus error|Segmentation fault|Hangup)(?: ?\(core dumped\))?\s*\Z"
)
"""What a shell prints of a program's end, on a line of its own."""


class Wrap(NamedTuple):
    """A width, and what stands where lines were broken."""

    width: int
    indent: str = ""
    """Before each line that carries on."""
    end: str = ""
    """After each line that does not end."""
    words: bool = False
    """Whether lines were broken between words only."""
    lossy: bool = False
    """Whether letters are gone where lines were broken."""

    def joined(self, text: str, following: str, last: str, continues: Continues) -> str | None:
        """The text with the line that follows, None where that begins a line of its own; `last` is the
        physical line that the text ends with.
        """
        if alike(last, following) or _OF_A_SHELL.match(following):
            return None
        if self.words:
            return f"{text} {following.strip()}" if _no_room(last, following, self.width, continues) else None
        if not following.startswith(self.indent):
            return None
        rest = following[len(self.indent) :]
        marked = bool(self.end or self.indent.strip())
        if not (rest.strip() if marked else continues(rest)):
            return None
        if self.end:
            whole = len(last) == self.width and last.endswith(self.end)
            return text.removesuffix(self.end) + rest if whole else None
        if not self.width - 1 <= len(last) <= self.width:
            return None
        if self.lossy:
            return with_loss(text, rest)
        lost_blank = len(last) == self.width - 1 and not rest.startswith(" ")
        return text + " " * lost_blank + rest


def find_wrap(texts: Sequence[str], continues: Continues) -> Wrap | None:
    """How the lines were broken, None if they are as they were written."""
    width, broken = _width(texts, continues)
    filled, between_words = _between_words(texts, continues)
    if between_words and filled > 1.5 * broken + 1:
        return between_words
    if width:
        return Wrap(width, *_marks(texts, width, continues), lossy=loses_letters(texts))
    return _indented(texts, continues) or between_words


def _width(texts: Sequence[str], continues: Continues) -> tuple[int, int]:
    """The column at which a terminal broke the lines, and how often; 0 if none did.

    Lines of exactly that length are followed by lines that begin nowhere; whole lines of equal length are
    not.
    """
    broken: Counter[int] = Counter()
    whole: Counter[int] = Counter()
    carried: dict[int, set[str]] = {}
    for text, following in pairwise(texts):
        if len(text) < _MIN_WIDTH:
            continue
        if continues(following) and not alike(text, following):
            broken[len(text)] += 1
            carried.setdefault(len(text), set()).add(following)
        else:
            whole[len(text)] += 1
    widths = (size for size in _widest(broken, whole, len(texts)) if len(carried[size]) > 1)
    return next(((size, broken[size]) for size in widths), (0, 0))


def alike(text: str, following: str) -> bool:
    """Whether both lines begin alike and have other figures, as rows of one kind do: what carries on a line
    that was broken begins otherwise.
    """
    if len(text) < _MIN_WIDTH or len(following) < _START:
        return False
    if not _begin_alike(text, following):
        return False
    return _FIGURES.findall(text) != _FIGURES.findall(following) != []


def _begin_alike(text: str, following: str) -> bool:
    start = _DIGITS.sub("0", text[:_START])
    if _LETTERS.search(start):
        return start == _DIGITS.sub("0", following[:_START])
    head = _BAR.sub("0", text[:_HEAD])  # a bar of progress: figures and marks before its words
    return head == _BAR.sub("0", following[:_HEAD]) and _LETTERS.search(head) is not None


_START = 10
_HEAD = 80
_BAR = regex(r"[\d=>.#|:\-/\u2500-\u25ff\u258f ]+")
_FIGURES = regex(r"\d+")
_LETTERS = regex(r"[A-Za-z]{2}")


def _widest(broken: Counter[int], whole: Counter[int], lines: int) -> Iterator[int]:
    """Lengths that are nearly always followed by a line that carries on, and that next to none exceeds."""
    for size, count in sorted(broken.items(), key=lambda item: -item[1]):
        longer = sum(times for length, times in (broken + whole).items() if length > size)
        enough = 2 if size in _SCREENS else 3
        if count >= enough and count > 2 * whole[size] and longer <= 0.02 * lines + 1:
            yield size


def _marks(texts: Sequence[str], width: int, continues: Continues) -> tuple[str, str]:
    """What stands before nearly every line that carries on, and after nearly every line that was broken."""
    places = [
        (text, following)
        for text, following in pairwise(texts)
        if len(text) == width and continues(following)
    ]
    begins = Counter(match[0] for _, following in places if (match := _ARROW.match(following)))
    ends = Counter(text[-1] for text, _ in places if text[-1] in _END_MARKS)
    return _usual(begins, len(places)), _usual(ends, len(places))


def _usual(marks: Counter[str], places: int) -> str:
    mark, count = marks.most_common(1)[0] if marks else ("", 0)
    return mark if count >= 3 and count >= 0.9 * places else ""


def _indented(texts: Sequence[str], continues: Continues) -> Wrap | None:
    """A screen or an editor that moves in what carries on, or puts an arrow before it."""
    broken: Counter[int] = Counter()
    whole: Counter[int] = Counter()
    indents: dict[int, Counter[str]] = {}
    for text, following in pairwise(texts):
        if len(text) < _MIN_WIDTH:
            continue
        match = _INDENT.match(following)
        if match and not _FRAME.match(text) and continues(following[match.end() :]):
            broken[len(text)] += 1
            indents.setdefault(len(text), Counter())[match[0]] += 1
        elif not _FRAME.match(text):
            whole[len(text)] += 1
    for size in _widest(broken, whole, len(texts)):
        indent, count = indents[size].most_common(1)[0]
        if count >= 0.8 * broken[size]:
            return Wrap(size, indent)
    return None


def _between_words(texts: Sequence[str], continues: Continues) -> tuple[int, Wrap | None]:
    """A mailer that fills its lines, and how often: none had room for the first word of the line that carries
    on.
    """
    width = max((len(text) for text in texts if " " in text.strip()), default=0)
    if not _MIN_WIDTH <= width <= _WORDS_BELOW:
        return 0, None
    full = sum(_no_room(text, following, width, continues) for text, following in pairwise(texts))
    loose = sum(
        1
        for text, following in pairwise(texts)
        if len(text) > width // 2 and continues(following) and not _no_room(text, following, width, continues)
    )
    return full, Wrap(width, words=True) if full >= 3 and full > 2 * loose else None


def _no_room(text: str, following: str, width: int, continues: Continues) -> bool:
    """Whether the line that follows carries on, and its first word did not fit."""
    if not text.strip() or not continues(following) or alike(text, following):
        return False
    return len(text) + 1 + len(following.split(None, 1)[0]) > width


_WORDS = (
    "allocate allocated allocating allocation allocator allocators bfc_allocator bfc_cpu_allocator_for_gpu"
    " bytes Chunks chunks client common_runtime conversion device exhausted localhost memory missing packages"
    " Remaining replica requested Resource ResourceExhaustedError RESOURCE_EXHAUSTED rounded session shape"
    " summary tensor tensorflow tensors totalling Traceback training"
).split()
_LAST = regex(r"[A-Za-z_]+\Z")
_FIRST = regex(r"[A-Za-z_]+")
_INSIDE = regex(r"(?<=\W)[A-Za-z_]{6,}(?=\W)")


def loses_letters(texts: Sequence[str]) -> bool:
    """Whether letters are gone where lines were broken: `/job:loc`, and below it `host/replica:0`. Words that
    only this text knows must lack letters twice, and more often than others are whole.
    """
    texts = texts[:_MAX_LINES_JUDGED]
    halves = [
        (left[0], right[0])
        for text, following in pairwise(texts)
        if (right := _FIRST.match(following))
        and len(text) >= _MIN_WIDTH
        and (left := _LAST.search(text, len(text) - 40))
    ]
    known = _by_ends(_WORDS)
    if any(_lacks_letters(left, right, known, 5) for left, right in halves):
        return True
    if len(halves) < 2:
        return False
    own = _by_ends({word for text in texts for word in _INSIDE.findall(text)})
    lost = sum(_lacks_letters(left, right, own, 7) for left, right in halves)
    return lost >= 2 and lost > sum(left + right in _alike(left, right, own) for left, right in halves)


_ByEnds = Mapping[tuple[str, str], Collection[str]]
"""Words by their first and their last letter: a text has thousands, and each of its lines asks."""


def _by_ends(words: Iterable[str]) -> _ByEnds:
    by_ends: dict[tuple[str, str], set[str]] = {}
    for word in words:
        by_ends.setdefault((word[0], word[-1]), set()).add(word)
    return by_ends


def _alike(left: str, right: str, words: _ByEnds) -> Collection[str]:
    """The words that begin and end with the same letters as the two."""
    return words.get((left[0], right[-1]), ())


def _lacks_letters(left: str, right: str, words: _ByEnds, least: int) -> bool:
    """Whether the two are the beginning and the end of a word, but not all of it."""
    both, alike = len(left) + len(right), _alike(left, right, words)
    if both < least or left + right in alike:
        return False
    return any(
        0 < len(word) - both <= _MOST_LOST and word.startswith(left) and word.endswith(right)
        for word in alike
    )


def with_loss(text: str, following: str) -> str:
    """Both lines, where letters are gone between them: the words beside the gap are none."""
    left, _, last = text.rpartition(" ")
    first, _, right = following.partition(" ")
    if not text.endswith(" "):
        text = left + " " if last else text
    return f"{text}{LOST} {right}" if first or text else text


def chopped_at(texts: Sequence[str]) -> int:
    """The width at which a pager cut the lines' ends off, 0 if none did: several lines of different kinds
    reach it, and none goes beyond.
    """
    width = max(map(len, texts), default=0)
    ends = {_DIGITS.sub("0", text[-12:]) for text in texts if len(text) == width}
    return width if width >= 60 and len(ends) >= _KINDS_CHOPPED else 0


def without_last_word(text: str) -> str:
    """The line without the word that the width may have cut."""
    return f"{text.rpartition(' ')[0]} {LOST}"


class PaneFrame(NamedTuple):
    """What a pane, a box or an editor put around all lines."""

    boxed: bool = False
    padded: bool = False
    spaced: bool = False
    """Whether an empty line follows each line."""
    between: re.Pattern[str] | None = None
    """What stands on a line of its own between the lines: a time."""

    def inside(self, text: str) -> str:
        """The line without the borders beside it and the blanks behind it."""
        if self.boxed and _in_box(text):
            text = text.strip()[1:-1].removeprefix(" ")
            return text.rstrip()
        return text.rstrip() if self.padded else text


def find_frame(texts: Sequence[str]) -> PaneFrame:
    """What stands around the lines of a text."""
    filled = [text for text in texts if text.strip()]
    if len(filled) < _FEWEST:
        return PaneFrame()
    size, count = Counter(map(len, filled)).most_common(1)[0]
    in_pane = size >= 60 and count >= 0.9 * len(filled) and _blank_ends(filled) >= 0.3 * count
    times = sum(1 for text in filled if _TIME.fullmatch(text))
    return PaneFrame(
        boxed=sum(map(_in_box, filled)) >= 0.8 * len(filled),
        padded=in_pane or _blank_ends(filled) >= 0.9 * len(filled),
        spaced=not any(one.strip() and other.strip() for one, other in pairwise(texts)),
        between=_TIME if times >= max(3, 0.1 * len(filled)) else None,
    )


def _blank_ends(texts: Sequence[str]) -> int:
    return sum(text.endswith("  ") for text in texts)


def _in_box(text: str) -> bool:
    inside = text.strip()
    return len(inside) > 2 and inside[0] in _BORDER and inside[-1] == inside[0]
