"""How a log ended that tells of no failure which is read: another framework's out of memory, a crash, a dead
kernel, a full disk. Such inputs have no incident, and are not lost: their row says it as its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.fleet import schema
from tfmemlens.readers.oom.other_failures import CRASH, ELSEWHERE, FOREIGN, KERNEL_DIED
from tfmemlens.readers.oom.rules import LineRule

TAIL = 16 << 10
"""Bytes at the end of a log that are looked at: what stands before did not end it."""
_RULES: tuple[tuple[str, LineRule], ...] = (
    *((f"{name} ran out of memory", rule) for name, rule in FOREIGN.items()),
    *ELSEWHERE.items(),
    ("the notebook's kernel died", KERNEL_DIED),
    ("the process crashed", CRASH),
)


def reason(tail: bytes) -> str | None:
    """Why the row of a log with this end has no incident; None where the end tells nothing."""
    raw = tail[-TAIL:].replace(b"\r", b"\n")
    small = raw.lower()
    told = next((name for name, rule in _RULES if any(map(rule.search, _lines(raw, small, rule)))), None)
    return f"{schema.ENDED}{told}" if told else None


def _lines(raw: bytes, small: bytes, rule: LineRule) -> Iterator[str]:
    """The lines that a rule may be for: quiet logs have none, and to ask each line of them takes longer than
    all else. `small` is the text in small letters.
    """
    for needed in map(str.encode, rule.words):
        at = small.find(needed)
        while at >= 0:
            end = small.find(b"\n", at)
            end = len(raw) if end < 0 else end
            yield raw[raw.rfind(b"\n", 0, at) + 1 : end].decode("utf-8", "replace")
            at = small.find(needed, end)
