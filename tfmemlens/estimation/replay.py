"""A step again, at another batch size: the order of the measured step, other requests, and the allocator walked through it.

The sizes of chunks depend on what was freed before, so the pool is first brought to where the step found it: variables and constants in the order in
which a session makes them, then the step itself, until its peak repeats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tfmemlens.costs.bfc import Chunk, Pool
from tfmemlens.estimation.scaling import Law
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.timeline import Timeline
from tfmemlens.units import round_up

_SLOT = re.compile(r"/(?:Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl)(?:_\d+)?\Z|/(?:m|v|rms|momentum|accumulator)\Z")
_STEPS = 3
_MANY_ROWS = 20_000


@dataclass(frozen=True)
class Step:
    """What is replayed: the order of events, the law of each row, what stood before. `removed_bytes` are taken off what stood before."""

    timeline: Timeline
    laws: Sequence[Law]
    shares: Sequence[float] | None = None
    """For each row the part of its request that a remedy leaves; None: all."""
    removed_bytes: int = 0
    added_bytes: int = 0
    dropped: frozenset[str] = frozenset()
    """Nodes whose standing buffers are gone."""

    @cached_property
    def events(self) -> list[tuple[int, bool]]:
        """(row, whether it is born) in order; in large steps without rows too small to matter."""
        _, changes, rows = self.timeline.events
        sizes = self.timeline.table.size_bytes
        least = self.timeline.peak_bytes // 100_000 if len(sizes) > _MANY_ROWS else 0
        seen: set[int] = set()
        found = []
        for row in rows:
            born = row not in seen
            seen.add(row)
            if sizes[row] >= least:
                found.append((row, born))
        del changes
        return found

    def requests(self, batch: int) -> list[int]:
        """What each row asks for at this batch, rounded as the allocator rounds."""
        plain = [law.request(batch) for law in self.laws]
        if self.shares is not None:
            plain = [int(size * share) for size, share in zip(plain, self.shares, strict=True)]
        return [round_up(max(size, 0)) for size in plain]

    def least_bytes(self, batch: int) -> int:
        """The peak if every chunk were exactly as large as its request."""
        requests = self.requests(batch)
        held = most = self.baseline_bytes
        for row, born in self.events:
            held += requests[row] if born else -requests[row]
            most = max(most, held)
        return most

    @property
    def baseline_bytes(self) -> int:
        """What stands before the step."""
        return max(self.timeline.baseline_bytes - self.removed_bytes, 0) + self.added_bytes

    def peak_bytes(self, batch: int) -> int:
        """The peak that the allocator would reach without a limit."""
        pool, extra = self._prepared(None, True)
        return self._run(pool, batch, extra) or 0

    def fits(self, batch: int, limit_bytes: int, grows: bool) -> bool:
        """Whether every request finds a chunk."""
        pool, extra = self._prepared(limit_bytes, grows)
        return extra >= 0 and pool.pool_bytes >= 0 and self._run(pool, batch, extra) is not None

    def _prepared(self, limit_bytes: int | None, grows: bool) -> tuple[Pool, int]:
        """A pool that holds what stands before the step, and the bytes of it that nothing names: they shrink the limit and lift the peak."""
        named = [row for row in self.timeline.standing if row.node not in self.dropped]
        plain, zeros = _order(named, zeros=False), _order(named, zeros=True)
        whole = self.baseline_bytes
        best = min((plain, zeros), key=lambda order: abs(_held(order) - whole))
        extra = max(whole - _held(best), 0)
        pool = Pool(None if limit_bytes is None else max(limit_bytes - extra, 0), grows)
        for request in best:
            if pool.allocate(request) is None:
                return pool, -1
        return pool, extra

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


def _held(order: Sequence[int]) -> int:
    pool = Pool()
    for request in order:
        pool.allocate(request)
    return pool.in_use_bytes


def _order(rows: Sequence[Allocation], zeros: bool) -> list[int]:
    """Requests of what stands before the step, in the order of a session's initializer: its constants, then random weights, then what starts at zero.

    With `zeros` each shape that starts at zero stands there once more: the constant that a session folds for the initializer stays in memory.
    """
    variables = [row for row in rows if row.op not in ("Const", "HostConst")]
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
    order += [row for row in rows if row.op in ("Const", "HostConst")]
    return [row.requested_bytes or row.size_bytes for row in order]
