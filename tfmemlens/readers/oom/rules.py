"""A pattern for one kind of log line, together with real lines that it was written for; and tables of them,
which remember what lines of one shape can fit.

Hundreds of rules are asked about every line, and nearly all lines of a log are like one before but for their
figures. So the words that rules need are looked for once in each shape of a line, and there by a few letters
of each, for all tables together: a line of prose, which comes once, has few of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from tfmemlens.patterns import regex

Era = tuple[tuple[int, int], tuple[int, int]]
"""Oldest and newest TensorFlow (major, minor) known to print a line this way."""

FIRST, LAST = (0, 5), (2, 99)


class LineRule:
    """A regular expression that is tried only on lines that contain `needs`: these letters, or one of several
    words (in small letters) whatever the case of the line.
    """

    __slots__ = ("_compiled", "_names_figures", "era", "examples", "needs", "pattern")

    def __init__(
        self, pattern: str, *examples: str, needs: str | tuple[str, ...] = "", era: Era | None = None
    ) -> None:
        self.pattern = pattern
        self.examples = examples
        self.needs = needs
        self.era = era
        self._compiled = regex(pattern)
        self._names_figures: bool | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """In small letters, the words of which a line needs one."""
        return (self.needs.lower(),) if isinstance(self.needs, str) else self.needs

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in the text where the pattern fits."""
        needs = self.needs
        if len(text) > _LONG:
            return self._search_long(text)
        if needs.__class__ is str:  # 200 rules ask every line: no call for most
            return self._compiled.search(text) if needs in text else None
        text_in_small_letters = text.lower()
        for word in needs:
            if word in text_in_small_letters:
                return self._compiled.search(text)
        return None

    def _search_long(self, text: str) -> re.Match[str] | None:
        """The same around the first places of the words alone: a line may have megabytes."""
        in_any_case = text if isinstance(self.needs, str) else text.lower()
        words = (self.needs,) if isinstance(self.needs, str) else self.needs
        end = 0
        for _ in range(_MOST_PLACES):
            found = [at for word in words if (at := in_any_case.find(word, end)) >= 0]
            if not found:
                return None
            begin, end = max(end, min(found) - _AROUND), min(found) + _AROUND
            if match := self._compiled.search(text, begin, end):
                return match
        return None

    def may_fit(self, text: str, text_in_small_letters: str) -> bool:
        """Whether the text has what the pattern needs."""
        needs = self.needs
        if needs.__class__ is str:
            return needs in text
        for word in needs:  # noqa: SIM110 - a generator takes twice as long
            if word in text_in_small_letters:
                return True
        return False

    def may_fit_shape(self, shape: str) -> bool:
        """Whether a line of this shape, that has what the pattern needs, may fit: a pattern that names no
        figure takes any other for it.
        """
        if self._names_figures is None:
            self._names_figures = bool(_FIGURE.search(_ANY_FIGURE.sub("", self.pattern)))
        return self._names_figures or self._compiled.search(shape) is not None


_LONG = 1 << 14
_AROUND = 1 << 13
_MOST_PLACES = 2
"""What is looked at of a line with more letters than the first: so many on both sides of a word that the rule
needs, at so many places.
"""
_ANY_FIGURE = regex(r"\\d|\{\d*,?\d*\}")
_FIGURE = regex(r"\d|\(\?P=")
_ZEROS = str.maketrans("123456789", "000000000")
_LONGEST_SHAPE = 400
_MOST_SHAPES = 4096
"""Shapes that a table remembers: some megabytes in all tables together."""
_last = ("", "")


def shape_of(text: str) -> str:
    """A line with all its digits 0."""
    global _last
    known, shape = _last
    if known is not text:  # all tables are asked about a line before the next one comes
        shape = text.translate(_ZEROS)
        _last = text, shape
    return shape


class _Index:
    """Tells of a shape which words may stand in it, by a few letters in a row of each."""

    def __init__(self, words: Sequence[Sequence[str]]) -> None:
        """`words` are alternatives, in small letters, at each place: one of them is needed there."""
        always = set()
        for place, alternatives in enumerate(words):
            for word in alternatives:
                if piece := _rarest(word.translate(_ZEROS)):
                    _PLACES.setdefault(piece, []).append((self, place))
                else:
                    always.add(place)
        self._always = frozenset(always)

    def places(self, shape: str) -> list[int]:
        """The places, in order, of which a word may stand in the shape."""
        found = _places_in(shape).get(self)
        return sorted(self._always.union(found) if found else self._always)


_PLACES: dict[str, list[tuple[_Index, int]]] = {}
"""Of each piece the places of all tables whose words have it: a line's pieces are looked up once."""
_last_places: tuple[str, dict[_Index, list[int]]] = ("", {})


def _places_in(shape: str) -> dict[_Index, list[int]]:
    global _last_places
    known, places = _last_places
    if known is not shape:  # all tables are asked about a line before the next one comes
        places = {}
        for piece in _PLACES.keys() & pieces_of(shape):
            for index, place in _PLACES[piece]:
                places.setdefault(index, []).append(place)
        _last_places = shape, places
    return places


_LENGTHS = (5, 3, 2)
"""Letters of a piece: as many as a word has, that few words of a line have by chance what a rule needs."""
_COMMON = {letter: rank for rank, letter in enumerate("zqxjkvbpygfwmucldrhsnioate0 _")}
"""Letters from the rare to the common; what is none of these is rarer."""


def _rarest(word: str) -> str | None:
    """The piece of a word that tells most; None where it has none whose small letters are always the same."""
    for length in _LENGTHS:
        pieces = [word[at : at + length] for at in range(len(word) - length + 1)]
        if plain := [piece for piece in pieces if piece.isascii() or piece.upper() == piece]:
            return min(plain, key=lambda piece: sum(_COMMON.get(letter, 0) for letter in piece))
    return None


def pieces_of(shape: str) -> set[str]:
    """All pieces of a shape of so many letters in a row, in small letters."""
    small = shape.lower()
    second, third = small[1:], small[2:]
    pieces = set(map("".join, zip(small, second, strict=False)))
    pieces.update(map("".join, zip(small, second, third, strict=False)))
    pieces.update(map("".join, zip(small, second, third, small[3:], small[4:], strict=False)))
    return pieces


class Words:
    """Words of which a line must have one, to be looked at closely."""

    def __init__(self, *words: str) -> None:
        self._words = tuple(word for word in words if not _has_figures(word))
        self._index = _Index([(word.lower(),) for word in self._words])
        self._with_figures = tuple(word for word in words if _has_figures(word))
        self._known: dict[str, bool] = {}

    def occur_in(self, text: str) -> bool:
        """Whether one of the words stands in a line."""
        shape = shape_of(text)
        occurs = self._known.get(shape)
        if occurs is None:
            occurs = any(self._words[place] in shape for place in self._index.places(shape))
            _remember(self._known, shape, occurs)
        return occurs or any(word in text for word in self._with_figures)


Key = TypeVar("Key")


class RuleTable(Generic[Key]):
    """Rules that are asked about a line one after the other, each with what it stands for."""

    def __init__(self, rules: Iterable[tuple[Key, LineRule]]) -> None:
        self._rules = tuple(rules)
        self._with_figures = [
            (each, words)
            for each in self._rules
            if (words := [word for word in each[1].words if _has_figures(word)])
        ]
        self._index = _Index([rule.words for _, rule in self._rules])
        self._index_with_figures = _Index([words for _, words in self._with_figures])
        self._known: dict[str, _Likely[Key]] = {}

    @classmethod
    def of(cls, *rules: LineRule) -> RuleTable[None]:
        """Rules that stand for themselves."""
        return RuleTable((None, rule) for rule in rules)

    def likely(self, text: str) -> tuple[tuple[Key, LineRule], ...]:
        """The rules that may fit the line, in their order: by the words that they need, and by its shape."""
        shape = shape_of(text)
        known = self._known.get(shape)
        if known is None:
            known = self._of_shape(shape)
            _remember(self._known, shape, known)
        sure, figures, all_likely = known
        if figures:
            small = text.lower()
            for word in figures:
                if word in small:
                    return tuple(each for each in all_likely if each[1].may_fit(text, small))
        return sure

    def first(self, text: str) -> Key | None:
        """What the first rule that fits the line stands for."""
        for key, rule in self.likely(text):
            if rule.search(text):
                return key
        return None

    def _of_shape(self, shape: str) -> _Likely[Key]:
        small = shape.lower()
        likely = [
            each
            for each in map(self._rules.__getitem__, self._index.places(shape))
            if each[1].may_fit(shape, small) and (len(shape) > _LONGEST_SHAPE or each[1].may_fit_shape(shape))
        ]
        doubtful = [
            (each, words)
            for each, words in map(self._with_figures.__getitem__, self._index_with_figures.places(shape))
            if any(word.translate(_ZEROS) in small for word in words) and each not in likely
        ]
        if not doubtful:
            return tuple(likely), (), ()
        others = [each for each, _ in doubtful]
        figures = tuple(word for _, words in doubtful for word in words)
        return tuple(likely), figures, tuple(each for each in self._rules if each in likely or each in others)


_Likely = tuple[tuple[tuple[Key, LineRule], ...], tuple[str, ...], tuple[tuple[Key, LineRule], ...]]
"""Of a shape: the rules that are likely whatever its figures; words with figures that others need, in small
letters; and then all of these rules in their order.
"""


def _has_figures(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


Known = TypeVar("Known")


def _remember(known: dict[str, Known], shape: str, value: Known) -> None:
    if len(shape) > _LONGEST_SHAPE:
        return
    if len(known) >= _MOST_SHAPES:
        known.clear()
    known[shape] = value


def narrow(era: Era, seen: Era | None) -> Era:
    """What two observations say together about the version; a contradiction leaves the first as it was."""
    if seen is None:
        return era
    low, high = max(era[0], seen[0]), min(era[1], seen[1])
    return (low, high) if low <= high else era


SIZE = r"-?\d+(?:\.\d+)?(?:B|[KMGTPE]iB)"
"""TensorFlow and XLA on GPU: 512B, 3.0KiB, 450.14MiB."""
TPU_SIZE = r"-?\d+(?:\.\d+)?[KMGTPE]?B?"
"""TPU listings: 32.00G, 530.00M, 12.0K, 0B."""
DEVICE = r"(?:/job:[\w-]+)?(?:/replica:\d+)?(?:/task:\d+)?/(?:device:)?[A-Za-z_]+:\d+"


_ALLOCATORS = (
    "bfc_cpu_allocator_for_gpu",
    "gpu_host_bfc",
    "cuda_host_bfc",
    "DmlAllocator",
    "Simple allocator",
)
_CUT_GPU = regex(r"G|GP|GPU|GPU_\d*|GPU_\d+_b?f?")


def whole_allocator(name: str | None) -> str | None:
    """An allocator's name, None where the text stops inside one of the names that TensorFlow gives."""
    if name is None or "\u2026" in name:
        return None
    name = name.rstrip(".")
    cut = any(known != name and known.startswith(name) for known in _ALLOCATORS)
    return None if cut or _CUT_GPU.fullmatch(name) else name


_DAMAGED_DEVICE = regex(
    r"/job:local(?!host/)|/job:\w*/(?!replica:|task:|device:)|/(?:replica|task):\d+\Z|\u2026"
    r"|/device:[a-z]+(?<!gpu)(?<!cpu):"
)


def whole_device(name: str | None) -> str | None:
    """A device's name, None where letters of it are gone: `/job:localhost/replictask:0`."""
    return None if name is None or _DAMAGED_DEVICE.search(name) else name
