"""The allocations of one step on one allocator, over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import Any

from tfmemlens.model.allocation import BEFORE, AllocationTable
from tfmemlens.model.attribution import Owner
from tfmemlens.values import dataclass, field, replace


class BaselineSource(str, Enum):
    """How it is known what was in use before the step."""

    ALLOCATOR = "allocator"
    """The allocator's own figure, sampled while the step ran, minus what the step had allocated by then."""
    EVENTS = "events"
    """Each event carries the allocator's figure."""
    STANDING = "standing tensors"
    """The sum of variables and constants that the step touched: a lower bound."""
    COMPILER = "compiler"
    """A compiled program's arguments, results and constants, as its compiler states them."""
    LOG = "log"
    """Every allocation since the process began is in the log."""
    PREDICTED = "prediction"
    """Nothing was measured: weights, slots and inputs as the model's description gives them."""
    UNKNOWN = "unknown"

    __str__ = str.__str__


class CurveSource(str, Enum):
    """How it is known what was alive when."""

    RECORDS = "allocation records"
    """Every allocation and every free of the step was recorded: exact."""
    EVENTS = "allocator events"
    """The allocator itself told each of them: exact."""
    LOG = "log lines"
    """Each allocation and each free is a line of a log: exact in order, without a clock."""
    LIVENESS = "liveness of outputs"
    """An output lives from its producer to its last reader; scratch memory is a sum at best."""
    SCHEDULE = "schedule"
    """A compiler's order of instructions, and between which of them each value lives: exact in order, without
    a clock.
    """
    COUNTERS = "counters"
    """Sums that somebody else formed, without names."""

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """The smallest limits, in bytes, that serve a predicted step from the first weight on: what decides
    whether a batch runs. Without batches that are fetched ahead, and without the pasts that an upper end
    allows for.
    """

    low_bytes: int
    """With all requests at the lower end of the error bar, or where nothing were lost to pieces."""
    bytes: int
    high_bytes: int
    """With all requests at the upper end of the bar."""
    served: bool | None = None
    """Whether the very limit that is asked about serves half of the ways in which the step may go; None where
    none is.
    """


@dataclass(frozen=True, slots=True)
class NeededLimit:
    """The limit that an allocator needs to run a predicted step in `fit`: never below the predicted peak. It
    holds what is lost where free memory lies in pieces, what making the weights takes, and the batches that
    are fetched ahead.
    """

    bytes: int
    high_bytes: int
    """With the upper end of the error bar on the step: what a limit is judged by."""
    serving: ServingLimits | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Executions:
    """The nodes that ran, as columns: when each began and ended (microseconds). They tell the phases of the
    step.
    """

    node: Sequence[str] = ()
    start_micros: Sequence[float] = ()
    end_micros: Sequence[float] = ()
    label: Sequence[str] = ()
    """What the trace says of each: `[bfc 2.0MB] conv = Conv2D(x, w)`."""


Events = tuple[Sequence[float], Sequence[int], Sequence[int]]
"""Columns of changes: when, by how many bytes, of which row."""


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
    """What stood before the step and outlives it; what the step freed of it is in the table, with the purpose
    BEFORE.
    """
    baseline_confidence: float | None = None
    """Share of the samples that agree on the baseline (1.0 = all), None where there are no samples."""
    baseline_source: BaselineSource = BaselineSource.UNKNOWN
    limit_bytes: int | None = None
    predicted: bool = False
    executions: Executions = Executions()
    curve_source: CurveSource = CurveSource.RECORDS
    ordinal: bool = False
    """Whether times are places in an order (lines of a log, instructions of a compiled program) instead of
    microseconds.
    """
    owners: Mapping[str, Owner] = field(default_factory=dict)
    """Whose each node is, where the maker of the timeline knows it better than a name can tell: so in a
    prediction.
    """
    error_share: float | None = None
    """How far a prediction's error bar reaches above the peak, and below, as a share of it."""
    lower_error_share: float | None = None
    """How far the bar reaches below the peak, where that is further."""
    needed_limit: NeededLimit | None = None
    """Of a prediction; None where it was not worked out."""
    addresses: Sequence[int] = ()
    """Where in the pool each row lies, where the trace tells it; empty where it does not."""
    fragmentation: Sequence[tuple[float, float]] = ()
    """When, and what share of what was free lay in small pieces then (0.0 to 1.0), as the allocator says."""
    scoped: frozenset[str] = frozenset()
    """Nodes of eager ops whose scope was recorded: it has the layers' own names, and no number of a call."""
    original: Timeline | None = field(default=None, compare=False, repr=False)
    """The timeline that this one is a copy of with another baseline, other owners, or more said of its rows:
    what follows from the same sizes and times alone is asked of it.
    """

    @property
    def place(self) -> str:
        """What an ordinal axis counts."""
        return "instruction" if self.curve_source is CurveSource.SCHEDULE else "line"

    @property
    def precision(self) -> str:
        """What the curve is worth: `exact`, a `lower bound`, or an `estimate` that may be a little too high
        as well.
        """
        if self.predicted or self.curve_source is CurveSource.COUNTERS:
            return "estimate"
        if self.curve_source is CurveSource.LIVENESS:
            return "estimate" if self.baseline_source is BaselineSource.ALLOCATOR else "lower bound"
        return "exact"

    @cached_property
    def events(self) -> Events:
        """All changes in order of time: time, change in bytes, row. At one instant allocations come before
        frees, so that no peak is missed.
        """
        return original.events if (original := self._original()) is not None else _in_order(self.table)

    @cached_property
    def curve(self) -> Sequence[int]:
        """Bytes in use after each event, baseline included."""
        if (original := self._original_on_this_baseline()) is not None:
            return original.curve
        return list(accumulate(self.events[1], initial=self.baseline_bytes))[1:]

    def _original(self) -> Timeline | None:
        """The original, where sizes and times are still the same columns."""
        if self.original is None:
            return None
        own, before = self.table, self.original.table
        is_same = (
            own.size_bytes is before.size_bytes
            and own.start_micros is before.start_micros
            and own.end_micros is before.end_micros
        )
        return self.original if is_same else None

    def _original_on_this_baseline(self) -> Timeline | None:
        original = self._original()
        return original if original is not None and original.baseline_bytes == self.baseline_bytes else None

    def standing_on(self, baseline_bytes: int, confidence: float | None, source: BaselineSource) -> Timeline:
        """The same allocations on another baseline; their order is not worked out again."""
        return replace(
            self,
            baseline_bytes=baseline_bytes,
            baseline_confidence=confidence,
            baseline_source=source,
            original=self,
        )

    def owned(self, owners: Mapping[str, Owner]) -> Timeline:
        """The same with the owners of nodes that something other than their names tells; neither their order
        nor the curve is worked out again.
        """
        return replace(self, owners={**owners, **self.owners}, original=self)

    @cached_property
    def before_bytes(self) -> int:
        """What was in use before the step: the baseline, and what the step freed of it."""
        return self.baseline_bytes + sum(self.table.size_bytes[row] for row in self.freed_preexisting)

    @cached_property
    def freed_preexisting(self) -> list[int]:
        """The rows that stood before the step and that it freed. They begin with the first of its own, so
        that few rows are looked at.
        """
        table = self.table
        first = min((start for start in table.start_micros if start is not None), default=None)
        return [
            row
            for row, start in enumerate(table.start_micros)
            if start is not None and start == first and table.purpose[row] == BEFORE
        ]

    @cached_property
    def runs(self) -> Mapping[str, int]:
        """The number of each node's last execution, by its name."""
        return dict(zip(self.executions.node, range(len(self.executions.node)), strict=True))

    @property
    def peak_bytes(self) -> int:
        """The most that was in use at once, baseline included."""
        return self.curve[self.peak_index] if self.curve else self.baseline_bytes

    @cached_property
    def peak_index(self) -> int:
        """The event that reached the peak, -1 if nothing was ever allocated."""
        if (original := self._original_on_this_baseline()) is not None:
            return original.peak_index
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

    def peak_without(self, gone: Callable[[int], bool]) -> int:
        """The peak of the same step without the rows for which this holds, everything else as it was."""
        live = highest = self.baseline_bytes
        for change, row in zip(self.events[1], self.events[2], strict=True):
            if not gone(row):
                live += change
                highest = max(highest, live)
        return highest

    def index_at(self, micros: float) -> int:
        """The last event at or before a time; -1 before the first."""
        return bisect_right(self.events[0], micros) - 1


def _in_order(table: AllocationTable) -> Events:
    sizes = table.size_bytes
    rows = [row for row, start in enumerate(table.start_micros) if start is not None]
    ends = [row for row, end in enumerate(table.end_micros) if end is not None]
    times: list[Any] = [table.start_micros[row] for row in rows] + [table.end_micros[row] for row in ends]
    changes = [sizes[row] for row in rows] + [-sizes[row] for row in ends]
    rows += ends
    order = sorted(range(len(times)), key=times.__getitem__)  # stable: allocations stay before frees
    return [times[at] for at in order], [changes[at] for at in order], [rows[at] for at in order]
