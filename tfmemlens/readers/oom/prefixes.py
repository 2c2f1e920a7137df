"""What a log shipper puts before every line, learned from the text itself.

There are more shippers than any list of their stamps can name. But a text that begins its lines in one way,
and goes on with what a program begins lines with, tells its stamp: what stands before `Traceback (most recent
call last):` or before TensorFlow's own stamp, with clocks and numbers left open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tfmemlens.patterns import regex

_LANDMARK = regex(
    r"Traceback \(most recent call last\)|(?:  )?File \"[^\"]+\", line \d"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] |[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+:\d+\]"
    r"|(?<![A-Za-z])[IWEF] (?:\d+ )?\S+\.(?:cc|h|cpp|cu):\d+\]"
    r"|Current usage from device: |(?<![\w.])tensorflow\.python\.\S+Error: "
    r"|(?:  )?(?<![\d.])\d+(?:\.\d+)?(?:B|[KMGT]iB) from [A-Za-z_]|(?:  )?Remaining \d+ nodes? with "
    r"|(?<![A-Za-z])(?:Limit|InUse|MaxInUse|NumAllocs|MaxAllocSize): {6,}\d"
    r"|\[\d+,\d+\]<std|\((?:\w+ )?pid=\d+[,)]|\[rank ?\d+\]:"
)
"""What a program begins a line with, never told within one; or a stamp that names a process."""
_MARKS = (
    "Traceback (", 'File "', "]", ": I ", ": W ", ": E ", ": F ", "Current usage", "tensorflow.python.",
    "B from ", "Remaining ", "Limit: ", "InUse: ", "NumAllocs: ", "MaxAllocSize: ", "pid=",
)  # fmt: skip
"""One of them stands in each such line: to look for letters takes a tenth of the time."""
_NO_STAMP = regex(r"\d+%|\b\d+/\d+ \[|it/s|\bETA\b|\u2501|Error|\bloss\b|\bfrom\b|[↪↳]")
"""What begins lines by itself: a progress bar, an error's own name."""
_CLOCK = (
    r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?"
    r"|\d\d/\d\d/\d\d \d\d:\d\d:\d\d"
    r"|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]{2,4} \d{4}(?=\W))?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|\d{1,7}\.\d{1,3}s(?=\s)"
)
_OPEN = regex(rf"(?P<clock>{_CLOCK})| *\d+")
"""What changes from line to line in one stamp: a time, or a number with the blanks that align it."""
_DIGITS = r"( *\d+(?!\d))"
"""A number is whole: were it not, one long number could be split among many in ever so many ways."""
_LONGEST = 160
_MOST_STAMPS = 64
_FEWEST = 2
_SHARE = 0.3
"""So much of the lines begin with a stamp, in a text that a screen broke at its width."""
_NO_NAME = " \t[](){}<>|:;,-│┃"


class Stamps(NamedTuple):
    """The stamps of a text: where a line begins, and who said it."""

    pattern: re.Pattern[str]
    ranks: tuple[tuple[int, ...], ...]
    """For each form of stamp the numbers in it that tell processes apart."""
    several: bool

    @property
    def ranks_differ(self) -> bool:
        """Whether they tell processes apart."""
        return self.several or any(self.ranks)

    def begins(self, text: str) -> bool:
        """Whether the line has one."""
        return bool(self.pattern.match(text))

    def split(self, text: str) -> tuple[str, str]:
        """The process (empty where all are one) and the line without its stamp."""
        match = self.pattern.match(text)
        if not match:
            return "", text
        return self._name(match), text[match.end() :]

    def _name(self, match: re.Match[str]) -> str:
        form = int((match.lastgroup or "s0")[1:])
        if not (self.several or self.ranks[form]):
            return ""
        return _OPEN.sub(lambda part: "" if part["clock"] else part[0].strip(), match[0]).strip(_NO_NAME)


def learned(texts: Sequence[str], known: Callable[[str, int], bool]) -> Stamps | None:
    """The stamps of the lines, None where they have none or where each is `known` to end at that place."""
    counts: Counter[str] = Counter()
    for text in texts:
        marked = any(mark in text for mark in _MARKS)
        mark = _LANDMARK.search(text, 0, _LONGEST + 40) if marked else None
        stamp = text[: mark.start()] if mark else ""
        if stamp.strip() and len(stamp) <= _LONGEST and not _NO_STAMP.search(stamp):
            counts[_form(stamp)] += 1
    forms = [form for form, count in counts.most_common(_MOST_STAMPS) if count >= _FEWEST]
    if not forms:
        return None
    pattern = _pattern(forms)
    stamped = [match for text in texts if (match := pattern.match(text))]
    filled = sum(1 for text in texts if text.strip())
    if len(stamped) < max(3, _SHARE * filled):
        return None
    if all(known(match.string, match.end()) for match in stamped):
        return None
    return Stamps(pattern, *_ranks(stamped, [form.count(_DIGITS) for form in forms]))


def _form(stamp: str) -> str:
    """The stamp as a pattern."""
    parts: list[str] = []
    end = 0
    for match in _OPEN.finditer(stamp):
        parts += [re.escape(stamp[end : match.start()]), rf"(?:{_CLOCK})" if match["clock"] else _DIGITS]
        end = match.end()
    return "".join([*parts, re.escape(stamp[end:])])


def _pattern(forms: list[str]) -> re.Pattern[str]:
    """One pattern of all forms, longest first; a stamp on an empty line has lost its last blank."""
    forms.sort(key=len, reverse=True)
    ends = [re.sub(r"(?:\\ |\\\t)+\Z", r"(?:\\s|\\Z)", form) for form in forms]
    return regex("|".join(f"(?P<s{at}>{form})" for at, form in enumerate(ends)))


def _ranks(stamped: list[re.Match[str]], numbers: list[int]) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """Which groups of each form tell processes apart, and whether the forms do; a form has a group for itself
    and so many `numbers`.

    A process speaks often and returns; what counts lines or time has as many values as lines, or never
    returns.
    """
    ends = [1 + sum(numbers[: at + 1]) + at + 1 for at in range(len(numbers))]
    first = [1, *ends[:-1]]
    values: dict[int, list[str]] = {}
    seen: Counter[int] = Counter()
    for match in stamped:
        form = int((match.lastgroup or "s0")[1:])
        seen[form] += 1
        for group in range(first[form] + 1, ends[form]):
            values.setdefault(group, []).append(match[group].strip())
    ranks = tuple(
        tuple(group for group in range(begin + 1, end) if _tells_processes(values.get(group, [])))
        for begin, end in zip(first, ends, strict=True)
    )
    return ranks, sum(1 for count in seen.values() if count >= 3) > 1


def _tells_processes(values: list[str]) -> bool:
    distinct = len(set(values))
    if not 1 < distinct <= _MOST_STAMPS or len(values) < 3 * distinct:
        return False
    runs = 1 + sum(one != other for one, other in pairwise(values))
    return runs > distinct or [int(value) for value in values] != sorted(int(value) for value in values)
