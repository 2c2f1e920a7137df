"""A pattern for one kind of log line, together with real lines that it was written for."""

from __future__ import annotations

import re

from tfmemlens.patterns import regex

Era = tuple[tuple[int, int], tuple[int, int]]
"""Oldest and newest TensorFlow (major, minor) known to print a line this way."""

FIRST, LAST = (0, 5), (2, 99)


class LineRule:
    """A regular expression that is tried only on lines that contain `needs`: these letters, or one of several
    words (in small letters) whatever the case of the line.
    """

    __slots__ = ("_compiled", "era", "examples", "needs", "pattern")

    def __init__(
        self, pattern: str, *examples: str, needs: str | tuple[str, ...] = "", era: Era | None = None
    ) -> None:
        self.pattern = pattern
        self.examples = examples
        self.needs = needs
        self.era = era
        self._compiled = regex(pattern)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in the text where the pattern fits."""
        needs = self.needs
        if needs.__class__ is str:  # 200 rules ask every line: no call for most
            return self._compiled.search(text) if needs in text else None
        text_in_small_letters = text.lower()
        for word in needs:
            if word in text_in_small_letters:
                return self._compiled.search(text)
        return None


def narrow(era: Era, seen: Era | None) -> Era:
    """What two observations say together about the version; a contradiction leaves the first as it was."""
    if seen is None:
        return era
    low, high = max(era[0], seen[0]), min(era[1], seen[1])
    return (low, high) if low <= high else era


SIZE = r"-?\d+(?:\.\d+)?(?:B|[KMGTPE]iB)"
"""TensorFlow and XLA on GPU: 512B, 3.0KiB, 450.14MiB."""
TPU_SIZE = r"-?\d+(?:\.\d+)?[KMGTPE]?B?"
"""TPU listings: 32.00G, 530.00M, 12.0K, 0B."""
DEVICE = r"(?:/job:[\w-]+)?(?:/replica:\d+)?(?:/task:\d+)?/(?:device:)?[A-Za-z_]+:\d+"
