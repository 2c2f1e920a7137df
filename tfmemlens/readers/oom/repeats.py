"""Lines of progress, which a program prints for hours: of each kind the first and the last are read.

Nothing that speaks of memory, of a device or of an error is one, and no row of an allocator's.
"""

from __future__ import annotations

from collections import deque

from tfmemlens.patterns import regex
from tfmemlens.readers.oom.cleaning import Cleaned
from tfmemlens.readers.oom.rules import shape_of

_FIRST, _LAST = 200, 20
_MOST_KINDS = 200
_MOST_SHAPES = 4096
_LONGEST = 300
_RUNS = regex(r"[\d=>.,#|:%\-/\u2500-\u25ff ]+")
"""Figures and the marks of a bar: alike in all lines of a kind."""
_PROGRESS = regex(
    r"(?i)\b(?:steps?|epochs?|iter(?:s|ations?)?|loss(?:es)?|eta|batch|acc(?:uracy)?|lr)\b|\b(?:it|sec|s)/"
    r"|/(?:s|sec|it)\b|\d/\d|\d%"
)
_FIGURES = regex(r"[^A-Za-z]*0[^A-Za-z]*\Z")
"""Rows of an array."""
_TELLS = regex(
    r"(?i)mem|alloc|ram\b|[gt]pu|oom|exhaust|kill|(?<!_)err|exce|warn|trac|leak|tensor|shape|file|chunk|use"
    r"|size|hbm|swap|rss|limit|fail|device|bin\b|buffer|compil|byte|\d ?[kmgt]i?b?\b|\bnan\b|0x|_bfc"
    r"|[({\[]\d+,"
)


class Repeats:
    """Holds back lines of a kind that came often, until another line comes."""

    def __init__(self) -> None:
        self._shapes: dict[str, str | None] = {}
        self._seen: dict[str, int] = {}
        self._held: dict[str, deque[Cleaned]] = {}

    def holds(self, cleaned: Cleaned) -> bool:
        """Whether the line tells what many before it told; the last ones of its kind are kept."""
        kind = None if cleaned.origin else self._kind(shape_of(cleaned.line.text))
        if kind is None:
            return False
        seen = self._seen.get(kind, 0)
        if not seen and len(self._seen) >= _MOST_KINDS:
            return False
        self._seen[kind] = seen + 1
        if seen < _FIRST:
            return False
        self._held.setdefault(kind, deque(maxlen=_LAST)).append(cleaned)
        return True

    def released(self) -> list[Cleaned]:
        """The lines that were kept, in the order of the text; they are to be read before any other."""
        if not self._held:
            return []
        held = sorted((line for kept in self._held.values() for line in kept), key=_place)
        self._held.clear()
        return held

    def _kind(self, shape: str) -> str | None:
        if len(shape) > _LONGEST:
            return None
        if shape not in self._shapes:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            of_progress = (_PROGRESS.search(shape) or _FIGURES.match(shape)) and not _TELLS.search(shape)
            self._shapes[shape] = _RUNS.sub("0", shape) if of_progress else None
        return self._shapes[shape]


def _place(cleaned: Cleaned) -> int:
    return cleaned.line.number
