"""Comments of a thread: what another one than its first writer proposes is set nowhere yet.

`You can let it use host RAM: set TF_FORCE_UNIFIED_MEMORY=1` is advice, whether the first writer took it or
not. A comment whose writer speaks of runs of their own (`I`, `my`, `we`) may tell of what was set in them.
"""

from __future__ import annotations

from tfmemlens.patterns import regex

_HEAD = regex(
    r"(?i)\A\W*@?(?P<name>[\w-]{2,40}) (?:(?:commented|replied|wrote|answered|added a comment|opened)\b"
    r"|\W{1,3} (?:comment|description|reply|answer)\b)"
    r"|\A\[turn \d+ by (?P<by>[\w-]{2,40})\b"
)
_ADVISES = regex(
    r"(?i)\byou(?:r|'ll|'d)?\b|(?:\A|[.:!`] )\W*(?:just )?(?:try|add|set|use|put|export|run) "
    r"|[\u628a\u5c06][^\n\u3002\uff0c]{1,20}(?:\u6539|\u8c03|\u8bbe|\u53bb\u6389|\u964d)"
    r"|\u5efa\u8bae|\u8bd5\u8bd5|\u8bd5\u4e00\u8bd5|[\u4f60\u60a8]"
)
_HELPED = regex(
    r"(?i)\b(?:(?:get|got|getting|work\w*) a?round (?:it|this|that)|workaround|solved|resolved|fixed"
    r"|(?:works?|worked) for me|(?:this|that|it|which) (?:helped|works|worked|did the trick))\b"
)
"""What went well for another one is what to try, and not what the first writer had when it failed."""
_OWN_RUN = regex(r"\b(?:I|I'\w{1,2}|[Mm]y|[Ww]e|[Oo]ur)\b")


class Replies:
    """Follows whose comment a line stands in, and whether that comment only advises."""

    def __init__(self) -> None:
        self._first: str | None = None
        self._of_another = self._advises = self._own_run = self._helped = False
        self._begun: list[tuple[int, bool]] = []
        """Where comments begin, and whether another one than the first writer wrote them."""

    @staticmethod
    def writer(text: str) -> str | None:
        """Who writes what follows, where the line is the head of a comment."""
        head = _HEAD.match(text)
        return (head["name"] or head["by"]) if head else None

    def begin(self, writer: str, number: int) -> None:
        """A comment begins; a thread's first lines name its first writer."""
        if self._first is None and number <= _FIRST_LINES:
            self._first = writer
        self._of_another = writer != self._first
        self._begun.append((number, self._of_another))
        self._advises = self._own_run = self._helped = False

    def take(self, text: str) -> None:
        """Note what a line of a comment says of its writer, and of whom it speaks to."""
        if self._of_another:
            self._advises = self._advises or _ADVISES.search(text) is not None
            self._helped = self._helped or _HELPED.search(text) is not None
            self._own_run = self._own_run or _OWN_RUN.search(text) is not None

    def another_wrote(self, number: int) -> bool:
        """Whether a line stands in a comment of another one than the first writer."""
        before = [of_another for begin, of_another in self._begun if begin <= number]
        return bool(before) and before[-1]

    @property
    def only_advise(self) -> bool:
        """Whether the comment up to here is another one's advice, or tells what helped in their run."""
        return self._of_another and (self._helped or (self._advises and not self._own_run))


_FIRST_LINES = 5
