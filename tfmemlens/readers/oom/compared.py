"""What a post compares in words of its own: how it works, and how it fails.

A part of a sentence that works and one that fails, near each other, are two sides of one comparison where
both say how it was run (`if I train on 65`, `with the default`, `using model.fit`), or where one names the
other (`instead of`, `a different`). Two quoted pieces of code below `This works:` and `This fails:` are
compared line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfmemlens.model.capture import ComparedWays
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.values import replace

_NEAR, _KEPT, _MOST_LINES, _FEW = 3, 6, 40, 3
"""Sentences between the sides, sides that are remembered, lines of code that are compared, and lines that may
differ.
"""
_HOW = regex(
    r"(?i)\b(?:if|when(?:ever)?|with(?:out)?|using|once|under|version|set(?:ting)?"
    r"|uses?|used|(?:chang|switch)(?:e|ed|ing)? (?:\w+ )?to|run(?:ning)? (?:on|in)|train(?:ing)? on)\b"
    r"(?! (?:problems?|issues?|errors?|failures?|any|out of memory|(?:an? )?OOM)\b)(?! ?\w\W*\Z) ?[^\s,;.]"
)
"""That a side says how it was run."""
_ANOTHER = regex(
    r"(?i)\b(?:different|another|other|instead|rather than|chang(?:e|ed|ing)|switch\w*|replac\w*"
    r"|same (?:code|model|data|script|program))\b"
)
_SUBJECT = regex(r"`(?P<name>[\w.]{3,40})`(?: \w+){0,2}? [a-z]+(?:s|ed)\b")
"""What does it, by its name: `Dogleg` caused, `Newton` used."""
_OF_TIME = regex(
    r"(?i)\b(?:at first|initially|first|until|till|before|so far|for (?:a|some|about|the first|\d)"
    r"|in the beginning|at the beginning|previously|earlier|up to)\b"
)
"""What goes well for a while is no way to run it."""
_STAGE = regex(
    r"(?i)\b(?:evaluat|validat|sav(?:e|ing)|predict|infer|test(?:ing)?\b|export|deploy|resum|checkpoint)\w*"
)
_WHATEVER = regex(r"(?i)\b(?:no matter|regardless|whatever|both|either|always|every ?time)\b")
_BATCH = regex(r"(?i)\bbatch(?:es|[-_ ]?sizes?)?\b")
_MEMORY = regex(
    r"(?i)\bOOM\w*|\bmemory\b|\bV?RAM\b|\bleak\w*|exhaust\w*|\bkill\w*|\bcrash\w*|\bfail\w*|\bgrow\w*"
    r"|\bincreas\w*|\bdie[sd]?\b|\brun(?:s|ning)? out\b|\bran out\b"
)
_DOUBT = regex(
    r"(?i)\?|\bwonder|\b(?:should|would|could|might|may|must|can I|expect\w*|supposed|meant to|ought)"
    r"(?:n['\u2019]?t)?\b"
)
_OF_A_PROGRAM = regex(
    r"\berrors_impl\b|\bOOM when allocating\b|\bshape ?\[|\bTraceback\b|Error:"
    r"|\bXLA has some guards\b|\bnecessarily a bug\b|\bfile a bug, run with envvar\b"
    r"|\bcaller indicates that this is not a failure\b|\bThis may be okay\b"
)
"""What a program prints is no way to run it."""
_ADVISES = regex(
    r"(?i)\byou(?:'re| are| were)\b|\byou (?:can|could|should|may|might|need to|want to|have to)\b"
    r"|\A\W*(?:please|try|check|see)\b"
)
"""What one says to another is no way to run it that was tried."""
_POINTS_BACK = regex(r"(?i)\A\W*(?:and )?(?:then|this|that|it|here|now|but (?:this|that|it|then))\b")
_NO_SIDE = (_OF_A_PROGRAM, _DOUBT, _ADVISES)
_INSTEAD = regex(
    r"(?i)\b(?P<fails>(?:using|with|use) (?!\w+ing\b)[^,;.?!]{2,60}),? (?:instead of|rather than)"
    r" (?P<works>[^,;.?!]{2,60})"
)
HEAD = regex(r"(?i)(?:[:\u2026]|\b(?:with|using|by|run|running|this|like))\W{0,3}\Z")
"""How a line ends that says of the code below it how it went."""
_OF_CODE = regex(
    r"\A\s*(?:[\w.\[\]'\"]+(?:, ?[\w.]+)* ?[-+*/]?=(?!=) ?\S|[\w.]+\(.*|[)\]}],?\s*\Z|@\w"
    r"|`?(?:sudo |python|\$ ?)|(?:def|class|with|for|while|if|import|from|return)\b.*[:(]"
    r"|\w[\w.\[\]]*,\s*\Z|\w[\w, ]*,\s*\Z)"
)
_FENCE = regex(r"\A\s*(?:```|~~~)\w*\s*\Z")
_WORD = regex(r"[\w.:-]{2,}")
_LOOKS = regex(
    r"(?i)\b(?:investigat|pinpoint|debug|profil|measur|track|narrow|reproduc|diagnos|isolat|look)\w*"
)
"""What a writer does to find out is no way to run it."""
_NO_NAME = r"(?!(?:and|or|but|with|of|for|in|on|to|at|by|the|than|only|even)\b)"
_NUMBER = regex(
    rf"(?<!\w)(?P<of>{_NO_NAME}[A-Za-z_]\w*(?: (?:on|to|of|with|for))?)[ =:~]{{1,3}}"
    r"(?P<number>\d[\d,.]*)(?![\w%])"
)
_COUNTED = regex(
    rf"(?i)(?<![\w.,])(?P<number>\d{{1,6}}) (?P<of>{_NO_NAME}(?!epochs?\b|steps?\b|times\b|hours?\b|days?\b"
    r"|min\w*|seconds?\b|[kmgt]i?b?\b|x\b)[a-z]{3,20}?)s?\b"
)
"""`5 workers`: what stands behind a number, asked where no name before one tells the difference."""


_OTHER_FAILURE = regex(
    r"(?i)\b(?:different|another|other|distinct|separate|new) (?:\w+ )?(?:failures?|errors?|problems?"
    r"|issues?|bugs?|crash(?:es)?|causes?|OOMs?|symptoms?|root causes?)\b"
)
"""Two failures are told apart, and no two ways to run it."""


class _Side(NamedTuple):
    words: str
    fails: bool
    line: Line
    number: int


class Comparisons:
    """Looks for two sides, sentence by sentence."""

    def __init__(self) -> None:
        self.found: ComparedWays | None = None
        self._sides: list[_Side] = []
        self._number = 0
        self._before: tuple[str, Line] | None = None
        """The sentence before, where it says neither."""
        self._blocks: list[tuple[_Side, list[Line]]] = []
        """What stands above quoted code, with the code."""
        self._open = False

    def take(self, sentence: str, clauses: Sequence[tuple[str, bool | None]], line: Line) -> None:
        """Read a sentence, with its clauses and whether each fails."""
        self._number += 1
        before, self._before = self._before, None
        if _is_a_title(line) or any(words.search(sentence) for words in _NO_SIDE):
            return
        parts = list(_parts(sentence, clauses))
        if not parts:
            self._before = sentence, line
        for words, fails in parts:
            if before and before[1] == line and _POINTS_BACK.match(words) and not _HOW.search(words):
                words = f"{before[0]} {words}"
            side = _Side(words, fails, line, self._number)
            self._compare(side)
            self._sides = [*self._sides[1 - _KEPT :], side]
            if fails and (instead := _INSTEAD.search(words)) and self.found is None:
                self.found = ComparedWays(f"with {instead['works']}", line, instead["fails"], line)

    def read(self, line: Line, fails: bool | None) -> None:
        """Read a line that may be code, or stand above some: `fails` says how that went."""
        text = line.text
        if len(text) <= _LONGEST_HEAD and _ANOTHER_WRITER.search(text):
            self._sides, self._before = [], None
        if fails is not None and HEAD.search(text):
            self._blocks.append((_Side(text.strip(" `#*-"), fails, line, len(self._blocks)), []))
            self._open = True
        elif self._open and text.strip() and not _FENCE.match(text):
            code = self._blocks[-1][1]
            self._open = len(code) < _MOST_LINES and bool(_OF_CODE.match(text))
            if self._open:
                code.append(line)

    def value(self) -> ComparedWays | None:
        """What differs, of words or of code."""
        works = next((each for each in self._blocks if not each[0].fails and each[1]), None)
        fails = next((each for each in self._blocks if each[0].fails and each[1]), None)
        if works is None or fails is None:
            return self.found
        known = {word for each in works[1] for word in _WORD.findall(each.text)}
        differ = [each for each in fails[1] if not known.issuperset(_WORD.findall(each.text))]
        if not 0 < len(differ) <= _FEW:
            return self.found
        if self.found and self.found.works_line != works[0].line:
            return replace(self.found, code=differ[0])
        return ComparedWays(works[0].words, works[0].line, fails[0].words, fails[0].line, code=differ[0])

    def _compare(self, side: _Side) -> None:
        if self.found is not None:
            return
        for other in reversed(self._sides):
            if other.fails == side.fails or side.number - other.number > _NEAR:
                continue
            good, bad = (other, side) if side.fails else (side, other)
            if _comparable(good, bad):
                larger = _larger(good.words, bad.words)
                self.found = ComparedWays(good.words, good.line, bad.words, bad.line, larger)
                return


_LONGEST_HEAD = 120
_ANOTHER_WRITER = regex(
    r"(?i)\A\W*@?[\w-]{2,40} (?:commented|replied|wrote|said|added a comment|answered)\b"
    r"|\bcommented (?:on|\d|last|yesterday|an?\b|edited)"
    r"|\A[\w-]{2,40} \W{1,3} (?:comment|reply|answer)\b"
)
"""The head of a comment: what another one says is no side of a comparison."""


def _is_a_title(line: Line) -> bool:
    return line.text.lstrip().startswith("#") or (line.number == 1 and line.text.rstrip()[-1:] not in ".!:")


def _parts(sentence: str, clauses: Sequence[tuple[str, bool | None]]) -> Iterator[tuple[str, bool]]:
    """Parts of the sentence that work or fail, neighbours of one kind together."""
    start = end = 0
    kind: bool | None = None
    for text, fails in clauses:
        at = sentence.find(text, end)
        if at < 0:
            return
        if fails is not kind:
            if kind is not None:
                yield sentence[start:end].strip(), kind
            start, kind = at, fails
        end = at + len(text)
    if kind is not None:
        yield sentence[start:end].strip(), kind


def _comparable(good: _Side, bad: _Side) -> bool:
    """Whether the two say how each was run, and differ in that."""
    if _OTHER_FAILURE.search(bad.words) or _OTHER_FAILURE.search(good.words):
        return False
    if not _MEMORY.search(bad.words) or _OF_TIME.search(good.words) or _WHATEVER.search(bad.words):
        return False
    if _LOOKS.search(bad.words) or _LOOKS.search(good.words):
        return False
    if _STAGE.search(bad.words) and not _STAGE.search(good.words):
        return False
    if _BATCH.search(good.words) and not _ANOTHER.search(bad.words):
        return False
    both = _HOW.search(good.words) and _HOW.search(bad.words)
    other = _ANOTHER.search(bad.words) or _ANOTHER.search(good.words)
    named = [_SUBJECT.search(each.words) for each in (good, bad)]
    subjects = {match["name"] for match in named if match}
    either = _HOW.search(good.words) or _HOW.search(bad.words)
    return bool(both or (other and either) or len(subjects) > 1)


def _larger(good: str, bad: str) -> str:
    """The one number that both sides state and that is larger where it fails: `validate on 5 -> 23`."""
    more = _more(_NUMBER, good, bad) or _more(_COUNTED, good, bad)
    return more[0] if len(more) == 1 else ""


def _more(numbers: re.Pattern[str], good: str, bad: str) -> list[str]:
    """Every number of what fails that is larger than the one of the same name of what works."""
    fine = {match["of"].lower(): match["number"] for match in numbers.finditer(good)}
    return [
        f"{match['of']} {fine[match['of'].lower()]} -> {match['number']}".replace(",", "")
        for match in numbers.finditer(bad)
        if _value(match["number"]) > _value(fine.get(match["of"].lower(), "inf"))
    ]


def _value(number: str) -> float:
    try:
        return float(number.strip(".,").replace(",", ""))
    except ValueError:
        return 0.0
