"""Why it matters and what helps, with the proof."""

from __future__ import annotations

from enum import Enum

from tfmemlens.model.line import Line
from tfmemlens.values import dataclass


class Severity(str, Enum):
    """A cause explains the failure by itself; a factor made it worse; a note answers a question the input
    raises.
    """

    CAUSE = "cause"
    FACTOR = "factor"
    NOTE = "note"

    __str__ = str.__str__


class Certainty(str, Enum):
    """How well a remedy's saving is known."""

    EXACT = "exact"
    BOUND = "bound"
    ESTIMATE = "estimate"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact and the line or node of the input that shows it."""

    fact: str
    line: Line | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to change. `saves_bytes` is None where nothing honest can be said."""

    text: str
    code: str | None = None
    saves_bytes: int | None = None
    certainty: Certainty | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is so: the headline stands alone, the evidence proves it, the remedies help."""

    severity: Severity
    headline: str
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    bytes: int | None = None
    detail: str = ""
    """A paragraph for those who ask why."""
    because: str = ""
    """The same as a clause for the verdict: `60 % of the listed bytes are layout copies`."""
    weight: float = 0.0
    """Orders findings of one severity: the share of the problem this one explains, 0 to 1."""
    rule: str = ""
    """The rule's slug; filled in by whoever runs the rules."""
    moment: int = 0
    """Index of the moment it is about."""
