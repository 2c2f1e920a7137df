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


class Basis(str, Enum):
    """The kind of evidence that a finding rests on, the best first."""

    MEASURED = "measured"
    """Sizes that the input states of what holds the memory or asks for it: rows, chunks, the request."""
    TRACED = "traced"
    """The lives of a traced step's tensors."""
    SHAPE = "shape"
    """What a tensor's shape can only be, or most likely is."""
    NAME = "name"
    """A name, or the words of a message."""
    FIGURES = "figures"
    """Sums of the allocator or the compiler: they tell how much, and never who."""

    __str__ = str.__str__


class Certainty(str, Enum):
    """How well a remedy's saving is known."""

    EXACT = "exact"
    BOUND = "bound"
    ESTIMATE = "estimate"

    __str__ = str.__str__


class Enough(str, Enum):
    """Whether a remedy saves what was missing at the failure."""

    YES = "enough"
    PERHAPS = "may be enough"
    """As far as the failure tells: the run may have asked for more afterwards, or the saving is not sure."""
    WITH_NEXT = "enough with the next"
    NO = "not enough alone"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact and the line or node of the input that shows it."""

    fact: str
    line: Line | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to change. `saves_bytes` is None where nothing honest can be said, negative where more would
    be needed.
    """

    text: str
    code: str | None = None
    saves_bytes: int | None = None
    certainty: Certainty | None = None
    change: str | None = None
    """The slug of a change that the what-if engine knows; None of what only one rule advises."""
    low_bytes: int | None = None
    high_bytes: int | None = None
    digits: int = 2
    """How many digits of an estimated saving are worth printing."""
    slug: str = ""
    """Its name in the table that says where a remedy applies; a change's slug, where it is one."""
    enough: Enough | None = None
    """None where the input does not tell what was missing; filled in by whoever runs the rules."""
    missing_bytes: int | None = None
    """What was missing at the failure, at the least; beside `enough`."""
    of_one_tensor: bool = False
    """Whether the saving counts one tensor, and what else shrinks with it comes on top."""

    def __post_init__(self) -> None:
        """The interval of a saving that states none: a point when exact, from nothing up when a bound."""
        if self.change and not self.slug:
            object.__setattr__(self, "slug", self.change)
        if self.saves_bytes is None or self.low_bytes is not None or self.certainty is Certainty.ESTIMATE:
            return
        low = self.saves_bytes if self.certainty is Certainty.EXACT else min(self.saves_bytes, 0)
        object.__setattr__(self, "low_bytes", low)
        object.__setattr__(self, "high_bytes", self.saves_bytes)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is so: the headline stands alone, the evidence proves it, the remedies help."""

    severity: Severity
    headline: str
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    explains: int | None = None
    """Bytes of the problem that this accounts for; None where it accounts for none, or nobody can say."""
    basis: Basis | None = None
    """What it rests on; its rule's `BASIS` where it does not say, filled in by whoever runs the rules."""
    detail: str = ""
    """A paragraph for those who ask why."""
    because: str = ""
    """The same as a clause for the verdict: `60 % of the listed bytes are layout copies`."""
    share: float = 0.0
    """`explains` as a share of the whole problem, 0 to 1; filled in by whoever runs the rules."""
    rule: str = ""
    """The rule's slug; filled in by whoever runs the rules."""
    moment: int = 0
    """Index of the moment it is about."""
    of_code: bool = False
    """Whether it names the line of the user's own code that does it."""
    account: bool = False
    """Whether it sums up what the program makes, rather than say what the request is."""
    answers: bool = False
    """Whether it answers a question that the text asks."""
    rules_out: tuple[str, ...] = ()
    """Slugs of remedies that cannot help where this is so, whichever rule advises them."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, merged across the findings that advise it."""

    remedy: Remedy
    rules: tuple[str, ...]
    """The slugs of the rules that advise it, the most important finding's first."""
