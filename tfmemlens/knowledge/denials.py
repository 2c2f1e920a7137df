"""What the writer of a text says that he does not see, which is no proof of it."""

from __future__ import annotations

from tfmemlens.patterns import regex

_LONGEST = 1500
_DENIALS = regex(
    r"(?i)(?:\b(?:do|does|did)(?: not|n['\u2019]?t)|\bdon['\u2019]?t|\bnever)"
    r" (?:\w+ )?(?:see|saw|notice|observe|detect)(?:d|n)?\b"
    r"(?! (?:why|where|what|how|the (?:reason|cause|source)))[^.;!?,\n]{0,60}?"
    r"\b(?:memory leaks?|leaks?|OOM|out[- ]of[- ]memory|memory (?:errors?|problems?|issues?|growth))\b"
)
"""`I don't see a memory leak`, and not `I don't see why it leaks`."""


def denies_a_leak(text: str) -> bool:
    """Whether it says that no leak or lack of memory is seen."""
    return len(text) <= _LONGEST and _DENIALS.search(text) is not None


def without_denials(text: str) -> str:
    """The text without what its writer does not see."""
    return _DENIALS.sub(" ", text) if len(text) <= _LONGEST else text
