"""Which values of a setting a text says went well, and which failed: `all with BS=8 completed, BS=16 failed`.

Where every value that failed is larger than every one that went well, its size decides. Where a larger batch
went well than one that failed, the batch does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfmemlens.model.capture import ComparedWays
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

BATCH = "batch"
_LONGEST, _MOST = 400, 60
_WORKS = regex(
    r"(?i)(?<![.\w])(?:pass(?:es|ed)|works?|worked|fits|completed?|succeed(?:s|ed)|successful(?:ly)?"
    r"|(?:runs?|ran|trains?|trained) (?:\w+ )?(?:fine|ok(?:ay)?|well|through|smoothly|successfully|cleanly)"
    r"|(?:is|was|are) (?:fine|ok(?:ay)?|stable)|(?:no|without) (?:OOMs?|errors?|problems?|issues?)"
    r"|(?:fixed|solved|resolved) (?:it|this|the|my))\b(?!\()"
)
_FAILS = regex(
    r"(?i)\b(?:OOM\w*|out[- ]of[- ]memory|fail(?:s|ed)|crash(?:es|ed)|(?:ran|runs) out|killed|blocked"
    r"|exhausted|ResourceExhausted\w*|RESOURCE_EXHAUSTED|(?:does(?:n't| not)|did(?:n't| not)|won't) fit)\b"
)
_DENIED = regex(r"(?i)\b(?:not|never|cannot|neither|nor|barely|only until)\b|n't\b")
_DOUBT = regex(
    r"(?i)\?|\b(?:should|would|could|might|may|expect\w*|hop(?:e|ing)|want\w*|supposed|maybe|perhaps|probably"
    r"|likely|(?<!I )(?<!we )try|plan\w*|suggest\w*|recommend\w*|please|you|your|used to|previously|until)\b"
)
_SENTENCE = regex(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+")
_CLAUSE = regex(r"[;|]|,(?!\d)|: | [\u2014\u2013-]{1,2} |(?=\b(?:but|while|whereas|however|although|yet)\b)")
_OF_BATCH = r"(?:(?:train|mini|micro|global|local)[_ -]?)?batch(?:[_ -]?sizes?)?|\bBS"
_CHANGED = regex(
    rf"(?i)\b(?P<name>{_OF_BATCH}|[a-z]\w{{2,30}}) from (?P<old>\d{{1,7}}) (?:down )?to (?P<new>\d{{1,7}})\b"
)
_NAMED = regex(
    rf"(?i)(?<![\w.])(?:(?P<batch>{_OF_BATCH})(?: of| is| at| to)?(?:\s?[=:]\s?| )"
    r"|(?:--?)?(?P<name>[a-z][\w-]{0,40})\s?=\s?|(?P<glued>N)(?=\d{2}))"
    r"(?P<value>\d{1,7})(?P<more>(?:(?:, ?| ?/ ?| and | or )\d{1,7}(?![\w.]))*)(?![\w%]|\.\d)"
)
_NUMBER = regex(r"\d{1,7}")
_NO_SIZE = regex(
    r"(?i)epoch|step|seed|version|rank|device|gpu|port|line|lr|rate|exit|code|status|time"
    r"|worker|trial|fold|id\b"
)


class Tried(NamedTuple):
    """One value, with what the text says of it."""

    value: int
    fails: bool
    words: str
    line: Line


class ValuesTried:
    """Collects the values sentence by sentence."""

    def __init__(self) -> None:
        self._tried: dict[str, list[Tried]] = {}

    def observe(self, line: Line) -> None:
        """Read a line of prose, or a row of a table."""
        text = line.text
        if len(text) > _LONGEST or not any(each in text for each in "0123456789"):
            return
        for sentence in _SENTENCE.split(text):
            if not _DOUBT.search(sentence):
                self._take(sentence, line)

    def _take(self, sentence: str, line: Line) -> None:
        if (changed := _CHANGED.search(sentence)) and _pole(sentence) is False:
            self._note(changed["name"], int(changed["old"]), True, sentence, line)
            self._note(changed["name"], int(changed["new"]), False, sentence, line)
            return
        clauses = [each for each in _CLAUSE.split(sentence) if each.strip()]
        poles = [_pole(each) for each in clauses]
        for index, clause in enumerate(clauses):
            near = (poles[index], *poles[index + 1 :], *reversed(poles[:index]))
            fails = next((each for each in near if each is not None), None)
            if fails is not None and not _DENIED.search(_FAILS.sub("", clause)):
                for name, value in _values(clause):
                    self._note(name, value, fails, sentence, line)

    def _note(self, name: str, value: int, fails: bool, words: str, line: Line) -> None:
        known = self._tried.setdefault(_named(name), [])
        if len(known) < _MOST and not _NO_SIZE.search(name):
            known.append(Tried(value, fails, words.strip(" |*-"), line))

    def batches(self) -> tuple[Tried, Tried] | None:
        """The largest batch that went well and the smallest that failed; None where only one kind is told."""
        return self._edge(BATCH)

    def compared(self) -> ComparedWays | None:
        """The two sides of a setting of which larger values fail; of a batch, where the smaller one does, so
        that something else differs.
        """
        for name in self._tried:
            edge = self._edge(name)
            if edge is None or (edge[0].value < edge[1].value) is (name == BATCH):
                continue
            good, bad = edge
            larger = "" if name == BATCH else f"{name} {good.value} -> {bad.value}"
            return ComparedWays(good.words, good.line, bad.words, bad.line, larger, of_values=True)
        return None

    def _edge(self, name: str) -> tuple[Tried, Tried] | None:
        tried = self._tried.get(name, [])
        good = [each for each in tried if not each.fails]
        bad = [each for each in tried if each.fails]
        if not good or not bad:
            return None
        best, least = max(good, key=_value), min(bad, key=_value)
        apart = best.value < least.value or min(map(_value, good)) > max(map(_value, bad))
        return (best, least) if apart else None


def _value(tried: Tried) -> int:
    return tried.value


def _named(name: str) -> str:
    return BATCH if _IS_BATCH.fullmatch(name) else name.replace("-", "_")


_IS_BATCH = regex(f"(?i){_OF_BATCH}")


def _pole(text: str) -> bool | None:
    """Whether a clause says that it fails; None where it says neither or both."""
    works, fails = _WORKS.search(text), _FAILS.search(text)
    works_only = works and (not fails or works.start() <= fails.start() < works.end())
    if works_only:
        return None if _DENIED.search(text) else False
    return True if fails and not works else None


def _values(clause: str) -> Iterator[tuple[str, int]]:
    for match in _NAMED.finditer(clause):
        name = match["batch"] or match["name"] or match["glued"]
        for number in (match["value"], *_NUMBER.findall(match["more"] or "")):
            yield name, int(number)
