"""How a step's memory grows with the batch: what was measured or predicted at one size, carried over to
others.
"""

from __future__ import annotations

from enum import Enum

from tfmemlens.model.finding import Certainty
from tfmemlens.model.what_if import Saving
from tfmemlens.values import dataclass

_WITH_ROOM = 9
"""Tenths of the batch that ran."""


class Scale(str, Enum):
    """What the bytes of an allocation grow with."""

    FIXED = "fixed"
    BATCH = "batch"
    SQUARE = "batch squared"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class BatchPrediction:
    """The peak at one batch size; the truth is expected in [low, high]. `bytes` at a measured batch is the
    measured figure.
    """

    batch: int
    bytes: int
    low_bytes: int
    high_bytes: int
    measured_bytes: int | None = None
    """What a trace of this very batch shows, where there is one."""

    @property
    def error(self) -> float | None:
        """(predicted - measured) / measured, None where nothing was measured."""
        return (self.bytes - self.measured_bytes) / self.measured_bytes if self.measured_bytes else None


@dataclass(frozen=True, slots=True)
class TriedBatch:
    """What real steps of a batch did under the limit."""

    batch: int
    ran: bool
    peak_bytes: int | None = None
    """The most that the allocator held, under the limit; None where the steps did not run."""


PROVEN = 3
"""In so many processes a batch has to run that is larger than one that failed."""


@dataclass(frozen=True, slots=True)
class TriedBatches:
    """Batches that were run under the limit in TensorFlow, on a CPU with random inputs, in order."""

    tensorflow: str
    """Its version."""
    limit_bytes: int
    """What the allocator was given: whole mebibytes."""
    steps: int
    tried: tuple[TriedBatch, ...]
    found: bool
    """Whether the largest batch was found to a fiftieth and ran in three processes; False where time or
    trials were over before, or a batch failed for another reason than memory.
    """
    stopped: str | None = None
    """The reason why a batch failed otherwise, which ended the search: it counts as no batch that fails."""

    @property
    def smallest_failed(self) -> int | None:
        """The smallest batch above the largest that did not run each time."""
        return min((batch for batch in self._failed if batch > self.largest), default=None)

    @property
    def gaps(self) -> tuple[int, ...]:
        """Smaller batches than the largest that did not run each time, in order."""
        return tuple(sorted(batch for batch in self._failed if batch < self.largest))

    @property
    def _failed(self) -> set[int]:
        return {each.batch for each in self.tried if not each.ran}

    def times(self, batch: int) -> tuple[int, int]:
        """In how many processes a batch ran, and of how many."""
        tries = [each.ran for each in self.tried if each.batch == batch]
        return sum(tries), len(tries)

    @property
    def largest(self) -> int:
        """The largest batch that ran each time, below all that did not or in `PROVEN` processes; 0 for
        none.
        """
        ran = {each.batch for each in self.tried if each.ran} - self._failed
        return max([self.largest_below_gaps, *(each for each in ran if self.times(each)[0] >= PROVEN)])

    @property
    def largest_below_gaps(self) -> int:
        """The largest batch that ran, below all that did not; 0 for none."""
        failed = min(self._failed, default=None)
        ran = (each.batch for each in self.tried if each.ran)
        return max((batch for batch in ran if failed is None or batch < failed), default=0)


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer of `tfmemlens fit`. Bytes of parts are those alive at the peak of `told_batch`: below it
    buffers of fixed size may hold more.
    """

    batch: int
    batch_source: str
    """How the batch size is known: `--batch`, `the graph's inputs`, `the commonest leading dimension`."""
    peak_bytes: int
    """The measured peak."""
    reported_batch: int
    """The batch whose peak is taken apart: the largest that fits, else four times the measured one."""
    fixed_bytes: int
    """What does not depend on the batch: weights, slots, constants, gradients of weights, buffers for one
    image.
    """
    per_sample_bytes: int
    limit_bytes: int | None = None
    largest_batch: int | None = None
    """None without a limit, 0 when not even one sample fits."""
    sure_batch: int | None = None
    """The largest batch of which the upper end of the error bar fits; None without a limit, and where only a
    bound is known.
    """
    likely_low_batch: int | None = None
    """Of a prediction, between this and the next the largest batch likely lies: with all requests at either
    end of the error bar.
    """
    likely_high_batch: int | None = None
    certainty: Certainty = Certainty.ESTIMATE
    constraint: str | None = None
    """What holds most at the largest batch."""
    runner_up: str | None = None
    """What would hold most next if that were gone."""
    pixel_bytes: int = 0
    """Of the peak, what grows with height x width of the input."""
    sequence_bytes: int = 0
    """Of the peak, what grows with the length of the sequence."""
    savings: tuple[Saving, ...] = ()
    """What each change would buy at the measured batch, the one that allows the largest batch first."""
    predictions: tuple[BatchPrediction, ...] = ()
    checks: tuple[BatchPrediction, ...] = ()
    """Predictions of other traces' batches, beside what those traces show."""
    predicted: bool = False
    """Whether the step itself was predicted from a graph or a model rather than measured."""
    tried: TriedBatches | None = None
    """Real steps under the limit, where these were asked for: they decide the largest batch."""
    use_peak_bytes: int | None = None
    """The peak at `use_batch`, as far as it was predicted."""

    @property
    def use_batch(self) -> int | None:
        """The batch to use now: the sure one; of those that were run a tenth below the largest, since at the
        edge one runs in one process and fails in the next, and below all that failed. None without a limit,
        and where only a bound is known.
        """
        if self.tried is not None:
            below = _WITH_ROOM * self.tried.largest // 10
            return min(below, self.tried.largest_below_gaps) if self.tried.gaps else below
        return self.sure_batch
