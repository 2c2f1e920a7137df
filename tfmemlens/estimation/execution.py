"""A step on several threads, without computing anything: when each op runs, which buffers live, what the allocator hands out.

As TensorFlow's executor does it: an op is ready when its inputs are there; it allocates when it starts, lets go of its inputs when it ends, and writes
over an input that nobody else needs. Times are guesses from the bytes and products that an op touches; they only decide what overlaps.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from tfmemlens.costs.bfc import Chunk, Pool
from tfmemlens.estimation.tape import Buffer, Op

_BYTES_PER_MICROSECOND = 8_000.0
_OVERHEAD_MICROS = 4.0


@dataclass(frozen=True, slots=True)
class Life:
    """One allocation: which op made it, when it was born and died (None: it outlives the step), its chunk."""

    op: Op
    buffer: int | None
    """None for a temporary."""
    requested_bytes: int
    chunk_bytes: int
    start_micros: float
    end_micros: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """What happened: allocations and executions."""

    lives: tuple[Life, ...]
    executions: tuple[tuple[str, float, float], ...]
    peak_bytes: int
    start_bytes: int


@dataclass
class _Slot:
    """A chunk in use. `users`: ops that still read what lives in it."""

    op: Op
    buffer: int
    chunk: Chunk
    requested_bytes: int
    start_micros: float
    users: int


class _State:
    """The moving parts of one run."""

    def __init__(self, ops: Sequence[Op], buffers: Sequence[Buffer], kept: frozenset[int], pool: Pool) -> None:
        self.buffers, self.pool, self.kept = buffers, pool, kept
        self.users = [1 if index in kept else 0 for index in range(len(buffers))]
        producer = {made: index for index, op in enumerate(ops) for made in op.writes}
        self.waiting = [0] * len(ops)
        self.followers: list[list[int]] = [[] for _ in ops]
        for index, op in enumerate(ops):
            needed = {producer[read] for read in op.reads if read in producer} | set(op.after)
            self.waiting[index] = len(needed)
            for before in needed:
                self.followers[before].append(index)
            for read in set(op.reads):
                self.users[read] += 1
        self.slots: dict[int, _Slot] = {}
        self.lives: list[Life] = []

    def start(self, op: Op, now: float) -> tuple[Chunk, float] | None:
        """Allocate what an op makes and its temporary; returns the temporary."""
        for made in op.writes:
            donor = next((self.slots[read] for read in op.over if read in self.slots and self.slots[read].users == 1), None) if made == op.writes[0] else None
            if donor is not None:
                donor.users += self.users[made]
                self.slots[made] = donor
            elif (size := self.buffers[made].bytes) and (chunk := self.pool.allocate(size)) is not None:
                self.slots[made] = _Slot(op, made, chunk, size, now, self.users[made])
        if op.temporary_bytes and (chunk := self.pool.allocate(op.temporary_bytes)):
            return chunk, now
        return None

    def finish(self, op: Op, temporary: tuple[Chunk, float] | None, now: float) -> None:
        """Let go of the temporary and of all inputs that nobody needs any more."""
        if temporary is not None:
            self.lives.append(Life(op, None, op.temporary_bytes, temporary[0].size_bytes, temporary[1], now))
            self.pool.free(temporary[0])
        for read in set(op.reads):
            self._release(read, 1, now)
        for made in op.writes:
            self._release(made, 0, now)

    def _release(self, buffer: int, count: int, now: float) -> None:
        slot = self.slots.get(buffer)
        if slot is None:
            return
        slot.users -= count
        self.users[buffer] -= count
        if not self.users[buffer]:
            del self.slots[buffer]
        if not slot.users:
            self.lives.append(Life(slot.op, slot.buffer, slot.requested_bytes, slot.chunk.size_bytes, slot.start_micros, now))
            self.pool.free(slot.chunk)


def run(ops: Sequence[Op], buffers: Sequence[Buffer], pool: Pool, kept: frozenset[int] = frozenset(), threads: int = 4) -> Run:
    """Execute the ops on a pool. `kept` are buffers that outlive the step."""
    state = _State(ops, buffers, kept, pool)
    start_bytes, pool.peak_bytes = pool.in_use_bytes, pool.in_use_bytes
    ready = deque(index for index, count in enumerate(state.waiting) if not count)
    running: list[tuple[float, int, int, tuple[Chunk, float] | None]] = []
    executions: list[tuple[str, float, float]] = []
    now, serial = 0.0, 0
    while ready or running:
        while ready and len(running) < threads:
            index = ready.popleft()
            op = ops[index]
            temporary = state.start(op, now)
            end = now + _OVERHEAD_MICROS + op.work / _BYTES_PER_MICROSECOND
            executions.append((op.name, now, end))
            serial += 1
            heapq.heappush(running, (end, serial, index, temporary))
        now, _, index, temporary = heapq.heappop(running)
        state.finish(ops[index], temporary, now)
        for follower in state.followers[index]:
            state.waiting[follower] -= 1
            if not state.waiting[follower]:
                ready.append(follower)
    for slot in {id(each): each for each in state.slots.values()}.values():
        state.lives.append(Life(slot.op, slot.buffer, slot.requested_bytes, slot.chunk.size_bytes, slot.start_micros, None))
    return Run(tuple(state.lives), tuple(executions), pool.peak_bytes, start_bytes)
