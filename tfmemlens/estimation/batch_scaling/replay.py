"""A step again, at another batch size: the order of the measured step, other requests, and the allocator
walked through it.

The sizes of chunks depend on what was freed before, so the pool is first brought to where the step found it:
variables and constants in the order in which a session makes them, then the step itself, until its peak
repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tfmemlens.estimation.batch_scaling.scaling import BatchScaling
from tfmemlens.knowledge.bfc import Chunk, Pool
from tfmemlens.knowledge.ops import roles
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.fit import Scale
from tfmemlens.model.timeline import Timeline
from tfmemlens.patterns import regex
from tfmemlens.units import MIB, round_up
from tfmemlens.values import dataclass, replace

_SLOT = regex(
    r"/(?:Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl)(?:_\d+)?\Z|/(?:m|v|rms|momentum|accumulator)\Z"
)
_STEPS = 3
_MAX_EXACT_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class History:
    """How a pool came to where the step found it: with or without the constants of a session's initializer,
    from regions of 1 or 2 MiB on.
    """

    zeros: bool
    first_region_bytes: int


_HISTORIES = [History(zeros, size) for zeros in (True, False) for size in (2 * MIB, MIB)]


@dataclass(frozen=True)
class ReplayedStep:
    """What is replayed: the order of events, the law of each row, what stood before. `removed_bytes` are
    taken off what stood before.
    """

    timeline: Timeline
    laws: Sequence[BatchScaling]
    batch: int
    """The batch that was measured."""
    shares: Sequence[float] | None = None
    """For each row the part of its request that a remedy leaves; None: all."""
    removed_bytes: int = 0
    added_bytes: int = 0
    dropped: frozenset[str] = frozenset()
    """Nodes whose standing buffers are gone."""
    standing_laws: Sequence[BatchScaling] = ()
    """Of the rows that stood before the step; empty: nothing of them grows."""
    order: Sequence[tuple[int, bool]] | None = None
    """Another order of events than the measured one: (row, whether it is born)."""
    is_bound: bool = False
    """What is listed is not all: a batch fits unless the listed requests alone are more than the limit."""
    as_it_ran: ReplayedStep | None = None
    """The step that was measured, where a remedy was applied to this one."""

    @cached_property
    def events(self) -> list[tuple[int, bool]]:
        """(row, whether it is born) in order; in large steps without rows too small to matter."""
        if self.order is not None:
            return list(self.order)
        _, _, rows = self.timeline.events
        sizes = self.timeline.table.size_bytes
        least = self.timeline.peak_bytes // 100_000 if len(sizes) > _MAX_EXACT_ROWS else 0
        seen: set[int] = set()
        moments = []
        for row in rows:
            born = row not in seen
            seen.add(row)
            if sizes[row] >= least or not sizes[row]:
                moments.append((row, born))
        return moments

    def requests(self, batch: int, least: bool = False) -> list[int]:
        """What each row asks for at this batch, rounded as the allocator rounds; `least`: where that is open,
        the least that it may be.
        """
        plain = [(law.least if least and law.least else law.request)(batch) for law in self.laws]
        if self.shares is not None:
            plain = [int(size * share) for size, share in zip(plain, self.shares, strict=True)]
        return [round_up(max(size, 0)) for size in plain]

    def least_bytes(self, batch: int) -> int:
        """The peak if every chunk were exactly as large as its request."""
        return self.baseline_at(batch) + sum(size for _, size in self.alive_at_peak(batch, least=True))

    def alive_at_peak(self, batch: int, least: bool = False) -> list[tuple[int, int]]:
        """(row, requested bytes) of what lives when most is requested."""
        requests = self.requests(batch, least)
        held = most = last = 0
        for index, (row, born) in enumerate(self.events, 1):
            held += requests[row] if born else -requests[row]
            if held > most:
                most, last = held, index
        alive: dict[int, None] = {}
        for row, born in self.events[:last]:
            if born:
                alive[row] = None
            else:
                alive.pop(row, None)
        return [(row, requests[row]) for row in alive]

    @property
    def baseline_bytes(self) -> int:
        """What stands before the step at the measured batch."""
        return max(self.timeline.baseline_bytes - self.removed_bytes, 0) + self.added_bytes

    def baseline_at(self, batch: int) -> int:
        """What stands before the step at this batch."""
        return self.baseline_bytes + self.standing_grown(batch) - self.standing_grown(self.batch)

    def standing_grown(self, batch: int) -> int:
        """Of what stands before the step, what grows with the batch."""
        return sum(round_up(law.request(batch)) for law in self.standing_laws if law.scale is not Scale.FIXED)

    @cached_property
    def history(self) -> History:
        """Of the ways in which the pool may have come to where it was, the one that gives the measured peak
        best. A remedy does not change it.
        """
        if self.as_it_ran is not None:
            return self.as_it_ran.history
        return min(
            _HISTORIES,
            key=lambda each: abs((self._walk(each, self.batch, None, True) or 0) - self.timeline.peak_bytes),
        )

    def peak_bytes(self, batch: int) -> int:
        """The peak that the allocator would reach without a limit."""
        if self.is_bound:
            return self.least_bytes(batch)
        return self._walk(self.history, batch, None, True) or 0

    def fits(self, batch: int, limit_bytes: int, grows: bool) -> bool:
        """Whether every request finds a chunk."""
        return self.peak_under(batch, limit_bytes, grows) is not None

    def peak_under(self, batch: int, limit_bytes: int, grows: bool) -> int | None:
        """The peak of an allocator with this limit, None where a request finds no chunk."""
        if self.is_bound:
            least = self.least_bytes(batch)
            return least if least <= limit_bytes else None
        return self._walk(self.history, batch, limit_bytes, grows)

    def changed(self, **changes: Any) -> ReplayedStep:
        """The same step with a remedy applied; its pool has the same history."""
        return replace(self, as_it_ran=self.as_it_ran or self, **changes)

    def _walk(self, history: History, batch: int, limit_bytes: int | None, grows: bool) -> int | None:
        """The peak of the last of a few equal steps after what stood before; None when a request does not
        fit.
        """
        extra = max(
            self.baseline_bytes - _held(_order(self._standing(self.batch), history.zeros), history), 0
        )
        order = _order(self._standing(batch), history.zeros)
        if limit_bytes is not None and extra >= limit_bytes:
            return None
        pool = Pool(None if limit_bytes is None else limit_bytes - extra, grows, history.first_region_bytes)
        for request in order:
            if pool.allocate(request) is None:
                return None
        return self._run(pool, batch, extra)

    def _standing(self, batch: int) -> list[Allocation]:
        """What stands before the step, as it is at this batch."""
        rows = list(self.timeline.standing)
        for at, law in enumerate(self.standing_laws):
            if law.scale is not Scale.FIXED:
                rows[at] = replace(rows[at], requested_bytes=law.request(batch), size_bytes=0)
        return [
            row for row in rows if row.node not in self.dropped and (row.requested_bytes or row.size_bytes)
        ]

    def _run(self, pool: Pool, batch: int, extra: int) -> int | None:
        """The peak of the last of a few equal steps; None when a request does not fit."""
        requests = self.requests(batch)
        most = 0
        for _ in range(_STEPS):
            alive: dict[int, Chunk] = {}
            pool.peak_bytes = pool.in_use_bytes
            for row, born in self.events:
                if not born:
                    pool.free(alive.pop(row))
                    continue
                chunk = pool.allocate(requests[row])
                if chunk is None:
                    return None
                alive[row] = chunk
            for chunk in alive.values():
                pool.free(chunk)
            if pool.peak_bytes <= most:
                break
            most = pool.peak_bytes
        return most + extra


def _held(order: Sequence[int], history: History) -> int:
    pool = Pool(first_region_bytes=history.first_region_bytes)
    for request in order:
        pool.allocate(request)
    return pool.in_use_bytes


def _order(rows: Sequence[Allocation], zeros: bool) -> list[int]:
    """Requests of what stands before the step, in the order of a session's initializer: its constants, then
    random weights, then what starts at zero.

    With `zeros` each shape that starts at zero stands there once more: the constant that a session folds for
    the initializer stays in memory.
    """
    variables = [row for row in rows if row.op not in roles.CONSTANTS]
    starts_at_zero = [row for row in variables if _SLOT.search(row.node or "") or len(row.shape or (1,)) < 2]
    chosen = {id(row) for row in starts_at_zero}
    order = []
    if zeros:
        seen = set()
        for row in sorted(starts_at_zero, key=lambda row: row.node or ""):
            if (row.shape, row.dtype) not in seen:
                seen.add((row.shape, row.dtype))
                order.append(row)
    order += [row for row in variables if id(row) not in chosen] + starts_at_zero
    order += [row for row in rows if row.op in roles.CONSTANTS]
    return [row.requested_bytes or row.size_bytes for row in order]
