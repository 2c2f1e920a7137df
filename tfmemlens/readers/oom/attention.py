"""How closely the lines of a long text are read.

Two hundred rules are asked about a line of prose, and no line of prose is like another, so nothing that was
learned of one helps with the next. What a post tells it tells in its first pages; of what follows only lines
that speak of memory are read, and of those in the end only the ones that name a failure. The same of what a
program prints: where thousands of lines were of a kind each, names of files, say, the next one of a new kind
is read if it has a word of a training or of a failure, or stands just below a line that has one: the code of
a frame, the row of a summary. Once thousands of those were read, too, the next ones must name memory, a size
or an error.
"""

from __future__ import annotations

from tfmemlens.patterns import regex
from tfmemlens.readers.oom.rules import shape_of

_MOST_PLAIN, _MOST_TELLING, _MOST_SHAPES, _MOST_SPEAKING = 800, 400, 1500, 1000
_BELOW = 3
"""Lines that are read below one that speaks."""
_PLAIN = regex(r"[^\[\]{}=<>_/\\@#|:$*`\"]*\Z")
"""Words and no more: nothing that a program, a table or a traceback is made of."""
_FIGURES = regex(r"\d{3}")
_TELLING = regex(r"(?i)memor|\b[cv]?ram\b|\bgpus?\b|leak|swap|\u5185\u5b58|\u663e\u5b58")
_FAILING = regex(
    r"(?i)out of mem|kill|exhaust|\boom|not enough|alloc|insufficient|terminat|abort|dumped|signal|exit"
)
_SPEAKS = regex(
    r"(?i)mem|[cv]?ram\b|[cgt]pu|hbm|leak|swap|out of|kill|exhaust|oom|enough|alloc|insufficient|terminat"
    r"|abort|dumped|signal|exit|err|excep|traceback|fail|warn|tensor|shape|size|batch|epoch|step|loss|device"
    r"|cuda|cudnn|jax|keras|xla|torch|flax|\d ?[kmgt]i?b?\b|byte|chunk|in use|limit|0x|File \"|\w\[\d"
    r"|\dB from |\bNone\b|[\u5185\u986f\u663e]\u5b58|import |\w\(|^\s*[-=]+>"
)
_NAMES_MEMORY = regex(
    r"(?i)memory|alloc|[cv]ram\b|hbm|out of|kill|exhaust|\boom|insufficient|terminat|abort|dumped|traceback"
    r"|File \"|\w(?:error|exception)\b|fail|\w\[\d|\d ?[kmgt]i?b?\b|\dB from |of size \d|in use|limit|bytes"
    r"|0x|(?:Size|Shape|Operator): |[\u5185\u986f\u663e]\u5b58"
)
_HEADS = regex(r"File \"|Traceback|[Oo]ut of memory|OOM|(?i:exhausted)|Error\b")
"""Of those, lines that others stand below: frames and their code, what a message goes on with."""


class Attention:
    """Counts the lines of prose of a text, and says which are to be read."""

    def __init__(self) -> None:
        self._plain = self._telling = 0
        self._shapes: set[str] = set()
        self._speaking = self._near = 0

    def passes(self, text: str) -> bool:
        """Whether a line may be passed over."""
        return self._is_one_of_many(text) or self._is_late_prose(text)

    def _is_one_of_many(self, text: str) -> bool:
        shape = shape_of(text)
        if shape in self._shapes:
            self._near = _BELOW if 'File "' in text else self._near
            return False
        if len(self._shapes) < _MOST_SHAPES:
            self._shapes.add(shape)
            return False
        late = self._speaking >= _MOST_SPEAKING
        if (_NAMES_MEMORY if late else _SPEAKS).search(text):
            self._speaking += 1
            if not late or _HEADS.search(text):
                self._near = _BELOW
            return False
        self._near -= 1
        return self._near < 0

    def _is_late_prose(self, text: str) -> bool:
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
