"""What a comment of a thread advises against the failure, where it names a thing of the program: an option, a
variable, a branch.

`You can try the "small" branch, since this one takes 13 GB of RAM` is worth more than what is said of all
programs: `reduce the batch size`, `set allow_growth`. An answer below it, that it was tried or that the error
stays, takes it back.
"""

from __future__ import annotations

from tfmemlens.model.capture import ADVISED
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_HEAD = regex(
    r"(?i)\A\W*@?(?P<name>[\w-]{2,40}) (?:(?P<comments>commented|replied|answered|added a comment)\b"
    r"|\W{1,3} (?:(?P<comment>comment|reply|answer)|description)\b)"
)
_SENTENCE = regex(r"(?<=[.!?])\s+(?=[A-Z(`\"'@])|(?<=[.!?]) - ")
_ADVISES = regex(
    r"(?i)\b(?:(?:you (?:can|could|should|may|might|need to|have to|must)|please|try(?: to)?"
    r"|to (?:resolve|solve|fix|avoid|work ?around) (?:this|the|it)\b[^.\n]{0,30}?,)"
    r" (?:want to |also |just |simply |instead ){0,2}(?:try(?: to)? )?"
    r"(?:reduc|decreas|lower|adjust|modif|us(?:e|ing)\b|set|replac|switch|split|optimi[sz]|pass|limit|disabl"
    r"|turn)\w*"
    r"|try (?:the|our|this|a) )"
)
_NAMED = regex(
    r"`[^`\n]{2,60}`|[\"\u201c][\w./-]{2,40}[\"\u201d]|(?<![\w/.])[a-z]\w*_\w{2,40}\b(?!/)"
    r"|(?<!\w)--[a-z][\w-]{2,40}"
    r"|\([a-z]\w*_\w{2,40}\)"
)
_OF_MEMORY = regex(r"(?i)\b(?:memory|RAM|VRAM|OOM|HBM)\b")
_FOR_ALL_PROGRAMS = regex(
    r"(?i)batch[ _-]?size|\bbatch\b|growth|clear_session|gc\.collect|CUDA_VISIBLE|nvidia-smi|tf_env_collect"
    r"|get_memory_info|colab\.\w|\bgist\b|stackoverflow|\bnightly\b"
    r"|\b(?:share|provide|paste|post|attach|reproduce)\b"
)
_TAKEN_BACK = regex(
    r"(?i)\b(?:tried|trying|still|same (?:error|issue|problem)|did(?:n't| not)|does(?:n't| not)|no luck"
    r"|already)\b"
)
_LONGEST, _MOST_LINES = 600, 4000


class AdviceCollector:
    """Reads the comments of a thread for the first thing that one of them advises."""

    def __init__(self) -> None:
        self._first: str | None = None
        self._writer: str | None = None
        self._comments = False
        self._of_memory = False
        """Whether the comment so far speaks of memory."""
        self._found: tuple[str, Line, str | None] | None = None
        self._read = 0

    def observe(self, line: Line) -> None:
        """Read a line of prose."""
        if head := _HEAD.match(line.text):
            self._writer, self._of_memory = head["name"], False
            self._comments = bool(head["comments"] or head["comment"])
            if not self._comments:
                self._first = self._writer
            return
        if not self._comments or self._read > _MOST_LINES:
            return
        self._read += 1
        self._of_memory = self._of_memory or _OF_MEMORY.search(line.text) is not None
        if self._found and self._writer != self._found[2] and _TAKEN_BACK.search(line.text):
            self._found = None
            self._read = _MOST_LINES + 1
        elif self._found is None and self._writer != self._first and len(line.text) <= _LONGEST:
            self._take(line)

    def _take(self, line: Line) -> None:
        if not self._of_memory:
            return
        for sentence in _SENTENCE.split(line.text):
            named = _ADVISES.search(sentence) and _NAMED.search(sentence)
            if named and not _FOR_ALL_PROGRAMS.search(sentence):
                self._found = sentence.strip(" -*"), line, self._writer
                return

    def value(self) -> dict[str, Line]:
        """The fact, whose name goes on with the sentence."""
        return {f"{ADVISED}{self._found[0]}": self._found[1]} if self._found else {}
