"""How closely the lines of a long text are read.

Two hundred rules are asked about a line of prose, and no line of prose is like another, so nothing that was
learned of one helps with the next. What a post tells it tells in its first pages; of what follows only lines
that speak of memory are read, and of those in the end only the ones that name a failure.
"""

from __future__ import annotations

from tfmemlens.patterns import regex

_MOST_PLAIN, _MOST_TELLING = 800, 400
_PLAIN = regex(r"[^\[\]{}=<>_/\\@#|:$*`\"]*\Z")
"""Words and no more: nothing that a program, a table or a traceback is made of."""
_FIGURES = regex(r"\d{3}")
_TELLING = regex(r"(?i)memor|\b[cv]?ram\b|\bgpus?\b|leak|swap|\u5185\u5b58|\u663e\u5b58")
_FAILING = regex(
    r"(?i)out of mem|kill|exhaust|\boom|not enough|alloc|insufficient|terminat|abort|dumped|signal|exit"
)


class Attention:
    """Counts the lines of prose of a text, and says which are to be read."""

    def __init__(self) -> None:
        self._plain = self._telling = 0

    def passes(self, text: str) -> bool:
        """Whether a line may be passed over."""
        if not _PLAIN.match(text) or _FIGURES.search(text):
            return False
        self._plain += 1
        if self._plain <= _MOST_PLAIN:
            return False
        if _FAILING.search(text):
            return False
        if not _TELLING.search(text):
            return True
        self._telling += 1
        return self._telling > _MOST_TELLING
