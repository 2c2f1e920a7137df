"""The allocations of one step on one allocator, over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate

from tfmemlens.model.allocation import AllocationTable
from tfmemlens.model.attribution import Owner


class BaselineSource(str, Enum):
    """How it is known what was in use before the step."""

    ALLOCATOR = "allocator"
    """The allocator's own figure, sampled while the step ran, minus what the step had allocated by then."""
    EVENTS = "events"
    """Each event carries the allocator's figure."""
    STANDING = "standing tensors"
    """The sum of variables and constants that the step touched: a lower bound."""
    PREDICTED = "prediction"
    """Nothing was measured: weights, slots and inputs as the model's description gives them."""
    UNKNOWN = "unknown"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Executions:
    """The nodes that ran, as columns: when each began and ended (microseconds). They tell the phases of the step."""

    node: Sequence[str] = ()
    start_micros: Sequence[float] = ()
    end_micros: Sequence[float] = ()


@dataclass(frozen=True)
class Timeline:
    """Allocations with their lifetimes, the baseline they stand on, and how well it is known."""

    device: str
    allocator: str
    table: AllocationTable
    """What the step allocated, one row an allocation; `end_micros` is None for what outlives the step."""
    standing: AllocationTable = field(default_factory=AllocationTable)
    """What was there before, as far as the step touched it: variables, slots, constants."""
    baseline_bytes: int = 0
    baseline_confidence: float | None = None
    """Share of the samples that agree on the baseline (1.0 = all), None where there are no samples."""
    baseline_source: BaselineSource = BaselineSource.UNKNOWN
    limit_bytes: int | None = None
    predicted: bool = False
    executions: Executions = Executions()
    owners: Mapping[str, Owner] = field(default_factory=dict)
    """Whose each node is, where the maker of the timeline knows it better than a name can tell: so in a prediction."""
    error_share: float | None = None
    """Half the width of a prediction's error bar, as a share of the peak."""

    @cached_property
    def events(self) -> tuple[Sequence[float], Sequence[int], Sequence[int]]:
        """All changes in order of time: time, change in bytes, row. At one instant allocations come before frees, so that no peak is missed."""
        table = self.table
        changes = [(start, 0, row) for row, start in enumerate(table.start_micros) if start is not None]
        changes += [(end, 1, row) for row, end in enumerate(table.end_micros) if end is not None]
        changes.sort()
        sizes = table.size_bytes
        return [time for time, _, _ in changes], [-sizes[row] if kind else sizes[row] for _, kind, row in changes], [row for _, _, row in changes]

    @cached_property
    def curve(self) -> Sequence[int]:
        """Bytes in use after each event, baseline included."""
        return list(accumulate(self.events[1], initial=self.baseline_bytes))[1:]

    @property
    def peak_bytes(self) -> int:
        """The most that was in use at once, baseline included."""
        return max(self.curve, default=self.baseline_bytes)

    @cached_property
    def peak_index(self) -> int:
        """The event that reached the peak, -1 if nothing was ever allocated."""
        return max(range(len(self.curve)), key=self.curve.__getitem__) if self.curve else -1

    @property
    def peak_micros(self) -> float | None:
        """When the peak was reached."""
        return self.events[0][self.peak_index] if self.curve else None

    def alive_after(self, index: int) -> list[int]:
        """The rows that are alive after so many events (by index), in the order of their births."""
        born: dict[int, None] = {}
        _, changes, rows = self.events
        for change, row in zip(changes[: index + 1], rows[: index + 1], strict=True):
            if change >= 0:
                born[row] = None
            else:
                born.pop(row, None)
        return list(born)

    def index_at(self, micros: float) -> int:
        """The last event at or before a time; -1 before the first."""
        return bisect_right(self.events[0], micros) - 1
