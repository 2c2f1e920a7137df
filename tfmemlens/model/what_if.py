"""What a change would buy: the change, and how many bytes less the step would hold with it."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from tfmemlens.model.finding import Certainty
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Something that a user can change about a training, known by its slug wherever it is spoken of."""

    slug: str
    text: str
    """What is done, in a few words."""


class Basis(str, Enum):
    """From what a saving was computed, the best first."""

    REPLAY = "the step simulated again"
    """Each allocation of a traced step as it would be, walked through the allocator."""
    TIMELINE = "the step's allocations scaled"
    """The traced step's curve with each row scaled; the allocator's chunks are not simulated."""
    LIST = "what was held, summed by kind"
    """One moment's tensors, scaled and added up: another moment may then be the peak."""
    NOTHING = "nothing"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Saving:
    """What a change buys, in bytes; negative where more would be needed. All None where nothing is known."""

    change: str
    """The change's slug."""
    basis: Basis = Basis.NOTHING
    best_bytes: int | None = None
    low_bytes: int | None = None
    """The truth is expected in [low, high]."""
    high_bytes: int | None = None
    certainty: Certainty | None = None
    text: str = ""
    """What is done in this very case, such as which activations are kept."""
    batch: int | None = None
    """The batch at which it saves this, None where it is not known."""
    largest_batch: int | None = None
    """The largest batch that fits with it, None without a limit."""
    to_batch: int | None = None
    """The batch afterwards, of a change of the batch."""

    @property
    def known(self) -> bool:
        """Whether there is a figure."""
        return self.best_bytes is not None


@dataclass(frozen=True, slots=True)
class TracedFit:
    """Which batch fits under the limit of a failure, from a step of the program that was traced and ran."""

    batch: int
    """Of the traced step."""
    peak_bytes: int
    """The most that the traced step held."""
    largest_batch: int
    sure_batch: int
    """The largest that fits even at the upper end of the bar."""


UNKNOWN = Saving("")
"""Nothing asked, nothing known."""


class WhatIf(Protocol):
    """Asked for a moment (its index) and a change (its slug), answers what it would buy there; of another
    batch than half the measured one `to_batch` says which.
    """

    def __call__(self, moment: int, change: str, to_batch: int | None = None) -> Saving:
        """The answer, without a figure where nothing is known."""


class AskTracedFit(Protocol):
    """Asked for a failure (its moment's index), answers what a step traced beside it says."""

    def __call__(self, moment: int) -> TracedFit | None:
        """None where no step was traced, or it does not tell."""


def nothing_traced(moment: int) -> TracedFit | None:
    """The answer where no engine stands behind a case."""
    del moment
    return None


def nothing_known(moment: int, change: str, to_batch: int | None = None) -> Saving:
    """The answer where no engine stands behind a case."""
    del moment
    return Saving(change, to_batch=to_batch)
