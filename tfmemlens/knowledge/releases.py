"""Names of releases, and which came first."""

from __future__ import annotations

from tfmemlens.patterns import regex

_PART = regex(r"(?:\A|(?<=\.))\d+")


def numbers_of(release: str) -> tuple[int, ...]:
    """`0.4.30rc1` as 0, 4 and 30, which compare as releases do; what is in the making counts as made."""
    return tuple(map(int, _PART.findall(release)))
