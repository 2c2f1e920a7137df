"""The section of a report that tells what should happen: its sentences are hopes, and nothing that was seen.

`Expected behavior: training completes 20 trials` says how a run should go, whatever its verb.
"""

from __future__ import annotations

from tfmemlens.patterns import regex

_LONGEST = 12
"""Lines of such a section that are taken for hopes."""
_HEAD = regex(
    r"(?i)\A[\s#*_>\d.)-]{0,12}(?:please )?(?:(?:describe|what (?:is|was)|explain) )?(?:the |your )?"
    r"(?:(?:expected|desired|intended|wanted|ideal|correct) (?:behaviou?rs?|results?|outcomes?|outputs?)"
    r"|what (?:did |do )?(?:you|i) (?:expect(?:ed)?|want(?:ed)?)(?: to (?:happen|see))?"
    r"|what (?:should|was supposed to) (?:have )?happen(?:ed)?|expectations?|acceptance criteria)"
    r"(?:\W{0,6}|\W{0,4}[:?]\W{0,4}\w.{0,400})\Z"
)
"""`### Expected Behavior`, `**Describe the expected behavior**`, `Desired behavior: it ends`."""
_ENDS = regex(
    r"(?i)\A\s{0,3}#{1,6} |\A\s{0,3}(?:```|~~~)|\A\s{0,3}\*\*|\ATraceback\b"
    r"|\A[\s#*_>\d.)-]{0,12}(?:(?:please )?(?:describe|what (?:is|was)) )?(?:the |your )?"
    r"(?:actual|current|observed|real|standalone|steps?|how to|to reproduce|reproduc\w+|code|minimal"
    r"|other info|additional|environment|system info\w*|versions?|logs?|relevant|error|stack ?traces?|bug"
    r"|setup|platform"
    r"|os|describe|what (?:actually )?happen\w*|possible|screenshots?|context|problem)\b.{0,60}\Z"
    r"|\A\W*@?[\w-]{2,40} (?:commented|replied|wrote|\W{1,3} (?:comment|description))"
)
"""Another heading, quoted code or another writer."""
_TURNS = regex(r"(?i)\b(?:but|however|instead|unfortunately|not the case|actually|currently)\b")
"""A sentence that turns to what happens."""


class HopedFor:
    """Follows whether a line stands where a report tells what should happen; lines come in their order."""

    def __init__(self) -> None:
        self._left = self._number = 0
        self._holds = False

    def holds(self, text: str, number: int) -> bool:
        """Whether this line tells a hope; asked again of one line it answers the same."""
        if number == self._number:
            return self._holds
        self._number = number
        if _HEAD.match(text):
            self._left = _LONGEST
        elif self._left and text.strip():
            self._left = 0 if _ENDS.search(text) else self._left - 1
        if self._left and _TURNS.search(text):
            self._left = 0
        self._holds = self._left > 0
        return self._holds
