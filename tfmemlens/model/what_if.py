"""What a change would buy: the change, and how many bytes less the step would hold with it."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from tfmemlens.model.allocation import Allocation
from tfmemlens.model.finding import Certainty
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Something that a user can change about a training, known by its slug wherever it is spoken of."""

    slug: str
    text: str
    """What is done, in a few words."""


class SavingBasis(str, Enum):
    """From what a saving was computed, the best first."""

    REPLAY = "the step simulated again"
    """Each allocation of a traced step as it would be, walked through the allocator."""
    TIMELINE = "the step's allocations scaled"
    """The traced step's curve with each row scaled; the allocator's chunks are not simulated."""
    LIST = "what was held, summed by kind"
    """One moment's tensors, scaled and added up: another moment may then be the peak."""
    TENSOR = "one tensor by its shape"
    """What becomes of one tensor alone; what else the change makes smaller is not counted."""
    NOTHING = "nothing"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Saving:
    """What a change buys, in bytes; negative where more would be needed. All None where nothing is known."""

    change: str
    """The change's slug."""
    basis: SavingBasis = SavingBasis.NOTHING
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


@dataclass(frozen=True, slots=True)
class StepForecast:
    """A training step of the program's own model, predicted from what the model said of itself when it
    failed. Nothing of it was measured.
    """

    batch: int
    peak_bytes: int
    low_bytes: int
    """The truth is expected in [low, high]."""
    high_bytes: int
    layers: tuple[tuple[str, int], ...] = ()
    """(layer, bytes at the peak) of the largest ones, the most bytes first."""


@dataclass(frozen=True, slots=True)
class FailureForecast:
    """The step at the batch that failed, and at a smaller one that the limit most likely holds; None where
    none was found.
    """

    model: str
    """What the model is called."""
    failed: StepForecast
    smaller: StepForecast | None = None


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A tensor that a change makes smaller: of what it counts by `before` only `after` are left, in each of
    `axes` dimensions.
    """

    change: str
    """The slug of what is done."""
    size_bytes: int | None
    """What it takes now, None where nobody knows."""
    before: int = 2
    """Samples, or positions along a side; the default and `after`'s are the half of it."""
    after: int = 1
    """0 where the tensor goes away."""
    axes: int = 1
    """2 where both sides of an image shrink, or both of a matrix of length by length; 4 of the matrix over
    all pairs of an image's positions.
    """
    count: int = 1
    """How many tensors of this size there are."""
    certainty: Certainty = Certainty.EXACT
    """How sure it is that the tensor answers like this."""


UNKNOWN = Saving("")
"""Nothing asked, nothing known."""


class WhatIf(Protocol):
    """Asked for a moment (its index) and a change (its slug), answers what it would buy there; of another
    batch than half the measured one `to_batch` says which. Where the batch is not known, `divisor` says by
    what it is divided instead of by 2.
    """

    def __call__(
        self, moment: int, change: str, to_batch: int | None = None, divisor: float | None = None
    ) -> Saving:
        """The answer, without a figure where nothing is known."""


class AskTensor(Protocol):
    """Asked for one tensor and a change, answers what the change takes off this tensor alone."""

    def __call__(self, tensor: Shrunk) -> Saving:
        """The answer, without a figure where the tensor's size is not known."""


class AskWithout(Protocol):
    """Asked for a moment of a traced step (its index), an allocation and what ends it (a slug), answers how
    much lower the step's peak is without the allocation.
    """

    def __call__(self, moment: int, allocation: Allocation, change: str) -> Saving:
        """The answer, without a figure where no step was traced."""


class AskTracedFit(Protocol):
    """Asked for a failure (its moment's index), answers what a step traced beside it says."""

    def __call__(self, moment: int) -> TracedFit | None:
        """None where no step was traced, or it does not tell."""


class AskPredicted(Protocol):
    """Asked for a failure (its moment's index), answers what a step of the program's model is predicted to
    need.
    """

    def __call__(self, moment: int) -> FailureForecast | None:
        """None where the program kept no description of its model, or it cannot be predicted."""


def nothing_predicted(moment: int) -> FailureForecast | None:
    """The answer where no engine stands behind a case."""
    del moment
    return None


def nothing_traced(moment: int) -> TracedFit | None:
    """The answer where no engine stands behind a case."""
    del moment
    return None


def nothing_known(
    moment: int, change: str, to_batch: int | None = None, divisor: float | None = None
) -> Saving:
    """The answer where no engine stands behind a case."""
    del moment, divisor
    return Saving(change, to_batch=to_batch)


def no_tensor_known(tensor: Shrunk) -> Saving:
    """The answer where no engine stands behind a case."""
    return Saving(tensor.change)


def no_step_known(moment: int, allocation: Allocation, change: str) -> Saving:
    """The answer where no engine stands behind a case."""
    del moment, allocation
    return Saving(change)
