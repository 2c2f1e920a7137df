"""A step on several threads, without computing anything: when each op runs, which buffers live, what the
allocator hands out.

As TensorFlow's executor does it (`executor.cc :: ScheduleReady`, Eigen's NonBlockingThreadPool): of the ops
that become ready when one ends, the thread keeps the cheap ones and the last expensive one, and leaves the
others to its queue, which it takes from the front and other threads from the back. An op allocates when it
starts, writes over an input that nobody else needs, and lets go of its inputs when it ends. Times are guesses
from what an op touches; they only decide what overlaps.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from tfmemlens.estimation.keras_step.op_costs import (
    BYTES_PER_MICROSECOND,
    JITTER,
    OVERHEAD_MICROS,
    STEALING_MICROS,
    UNSURE,
)
from tfmemlens.estimation.keras_step.tape import TapeBuffer, TapeOp, dependencies
from tfmemlens.estimation.keras_step.update_order import UpdateOrder
from tfmemlens.estimation.threads import Worker, hand_over, next_for, stolen_at
from tfmemlens.knowledge.bfc import Chunk, Pool
from tfmemlens.values import dataclass

_AFTER_MICROS = 0.001
"""What one op frees another takes: a start comes this much after the end that made room."""
_LISTED_READERS = 8
"""The edges of a node stand in the order in which they were made, more than so many in that of a hash table
of their addresses (`EdgeSet` in tensorflow/core/graph/edgeset.h).
"""
_BUCKET_PLACES, _BUCKET_FILL, _BUCKET_BYTES = 8, 0.8, 256
"""Of that table: places in a bucket, the share of all that may be taken, and the addresses that fall into one
bucket before the next one's begin (`FlatRep` in tsl/lib/gtl/flatrep.h).
"""
_READER_BYTES = 96
"""What the edges of one reader take, which are made one after the other: three of 32 bytes."""
_SURELY = 5.0
"""A rank that chance does not change."""


class Life(NamedTuple):
    """One allocation: which op made it (None: it stood before the step), when it was born and died (None: it
    outlives the step), its chunk.
    """

    op: TapeOp | None
    buffer: int | None
    """None for a temporary."""
    requested_bytes: int
    chunk_bytes: int
    start_micros: float
    end_micros: float | None


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """What happened: allocations and executions; `start_bytes` stood before and after, what died in the step
    is among the lives.
    """

    lives: tuple[Life, ...]
    executions: tuple[tuple[str, float, float], ...]
    peak_bytes: int
    start_bytes: int
    standing: Mapping[int, Chunk]
    """The chunks of what outlives the step, by buffer: variables move when a step writes them anew."""


@dataclass
class _Slot:
    """A chunk in use. `users`: ops that still read what lives in it, and one more for what must outlive the
    step.
    """

    op: TapeOp | None
    buffer: int
    chunk: Chunk
    requested_bytes: int
    start_micros: float
    users: int


class _Temporary(NamedTuple):
    """What an op needs while it runs."""

    chunk: Chunk
    requested_bytes: int
    start_micros: float


class SchedulePlan:
    """What all runs of a step share: who reads what, and which op waits for which. `kept` are buffers that
    outlive the step; `updates` is the order in which a step of `fit` reaches them.
    """

    def __init__(
        self,
        ops: Sequence[TapeOp],
        buffers: Sequence[TapeBuffer],
        kept: frozenset[int] = frozenset(),
        updates: UpdateOrder | None = None,
    ) -> None:
        self.ops, self.buffers = ops, buffers
        self.updates = updates if any(op.place is not None for op in ops) else None
        self.sizes = [buffer.bytes for buffer in buffers]
        self.reads = [tuple(set(op.reads)) for op in ops]
        """Each buffer once."""
        self.micros = [OVERHEAD_MICROS + op.work / BYTES_PER_MICROSECOND for op in ops]
        self.users = [1 if index in kept or buffer.standing else 0 for index, buffer in enumerate(buffers)]
        """How many ops read a buffer, and one more for what must outlive the step."""
        self.updaters = [0] * len(buffers)
        """By variable the ops that update it and name it among what they read."""
        for op, reads in zip(ops, self.reads, strict=True):
            for read in reads:
                self.users[read] += 1
            if op.updates in op.reads:
                self.updaters[op.updates] += 1
        self.waiting, self.followers = dependencies(ops)
        self.ranked = [
            index for index, readers in enumerate(self.followers) if any(ops[each].rank for each in readers)
        ]
        """Ops whose followers stand in the order of Grappler's graph."""

    def ordered(self, order: Random | None) -> list[list[int]]:
        """By op those that wait for it, in the order in which they become ready."""
        followers = self.followers.copy()
        first = self.updates.kernels_first(order) if order and self.updates else None
        for index in self.ranked:
            readers = followers[index]
            ranks = {reader: self._rank(reader, first) for reader in readers}
            if order and len(readers) > _LISTED_READERS:
                made = sorted(readers, key=lambda reader: (ranks[reader], -reader))
                followers[index] = _by_address(made, order)
                continue
            places = {
                reader: ranks[reader] + (order.uniform(-UNSURE, UNSURE) if order else 0) for reader in readers
            }
            followers[index] = sorted(readers, key=lambda reader: (places[reader], reader))
        return followers

    def _rank(self, reader: int, first: frozenset[int] | None) -> float:
        """`first`: kernels, by their places, whose gradients are reached first in this step."""
        op = self.ops[reader]
        if first is None or op.place is None:
            return op.rank
        return _SURELY if op.place in first else -_SURELY


def _by_address(readers: Sequence[int], order: Random) -> list[int]:
    """Readers in the order of a hash table of their edges' addresses; where these begin is chance."""
    buckets = 1
    while buckets * _BUCKET_PLACES * _BUCKET_FILL < len(readers):
        buckets *= 2
    start = order.uniform(0, buckets * _BUCKET_BYTES)
    bucket = {
        reader: int((start + place * _READER_BYTES) // _BUCKET_BYTES) % buckets
        for place, reader in enumerate(readers)
    }
    return sorted(readers, key=lambda reader: bucket[reader])


class _Memory:
    """Which buffer lives in which chunk, and who still needs it."""

    def __init__(self, plan: SchedulePlan, standing: Mapping[int, Chunk], pool: Pool) -> None:
        self.plan, self.pool = plan, pool
        self.users = plan.users.copy()
        self.updaters = plan.updaters.copy()
        """Of those still to come."""
        self.slots = {
            index: _Slot(None, index, chunk, plan.sizes[index], 0.0, self.users[index])
            for index, chunk in standing.items()
        }
        self.old: dict[int, _Slot] = {}
        """Where the values of a variable live that was updated while somebody still read them."""
        self.lives: list[Life] = []

    def start(self, op: TapeOp, now: float) -> _Temporary | None:
        """Allocate what an op makes and its temporary; returns the temporary."""
        size = op.temporary_bytes
        if op.copies in self.slots and self.slots[op.copies].users > 1:
            size += self.plan.sizes[op.copies]
        for made in op.writes:
            donor = self._donor(op) if op.over and made == op.writes[0] else None
            if donor is not None:
                donor.users += self.users[made]
                self.slots[made] = donor
            else:
                self._allocate(op, made, now, self.users[made])
        if op.updates is not None and (old := self.slots.get(op.updates)) is not None:
            own = 1 + self.updaters[op.updates]
            if old.users > own:  # somebody still reads the old values: `PrepareToUpdateVariable` copies
                old.users -= own
                self.old[op.updates] = old
                self._allocate(op, op.updates, now, own)
        if size and (chunk := self.pool.allocate(size)):
            return _Temporary(chunk, size, now)
        return None

    def _donor(self, op: TapeOp) -> _Slot | None:
        """What the first output writes over: an input that nobody else needs."""
        for read in op.over:
            slot = self.slots.get(read)
            if slot is not None and slot.users == 1:
                return slot
        return None

    def _allocate(self, op: TapeOp, buffer: int, now: float, users: int) -> None:
        size = self.plan.sizes[buffer]
        if size and (chunk := self.pool.allocate(size)) is not None:
            self.slots[buffer] = _Slot(op, buffer, chunk, size, now, users)

    def finish(self, index: int, temporary: _Temporary | None, now: float) -> None:
        """Let go of the temporary and of all inputs that nobody needs any more."""
        op = self.plan.ops[index]
        if temporary is not None:
            chunk = temporary.chunk
            self.lives.append(
                Life(op, None, temporary.requested_bytes, chunk.size_bytes, temporary.start_micros, now)
            )
            self.pool.free(chunk)
        if (
            op.replaces is not None
            and (new := self.slots.get(op.reads[-1])) is not None
            and (old := self.slots.get(op.replaces)) is not new
        ):
            new.users += 1
            self.slots[op.replaces] = new
            if old is not None:
                old.users -= 1
                self._settle(old, now)
        if op.updates is not None and op.updates in op.reads:
            self.updaters[op.updates] -= 1
        for read in self.plan.reads[index]:
            if self.old and read in self.old and read != op.updates:
                self.users[read] -= 1
                self.old[read].users -= 1
                self._settle(self.old[read], now)
            else:
                self._release(read, 1, now)
        for made in op.writes:
            if not self.users[made]:
                self._release(made, 0, now)

    def _release(self, buffer: int, count: int, now: float) -> None:
        self.users[buffer] -= count
        slot = self.slots.get(buffer)
        if slot is None:
            return
        slot.users -= count
        if not self.users[buffer]:
            del self.slots[buffer]
        if not slot.users:
            self._settle(slot, now)

    def _settle(self, slot: _Slot, now: float) -> None:
        if not slot.users and slot.requested_bytes:
            size = slot.chunk.size_bytes
            self.lives.append(Life(slot.op, slot.buffer, slot.requested_bytes, size, slot.start_micros, now))
            self.pool.free(slot.chunk)
            slot.requested_bytes = 0


def run(
    plan: SchedulePlan,
    pool: Pool,
    standing: Mapping[int, Chunk] | None = None,
    workers: int = 4,
    chance: Random | None = None,
    order: Random | None = None,
) -> ScheduledRun:
    """Execute the ops on a pool. `standing` are the chunks of what is there before.

    With `chance` each op takes up to so much longer or shorter as on a busy machine, so that other ops
    overlap. With `order` the readers of a tensor stand in another order where Grappler's is not sure.
    """
    ops = plan.ops
    memory = _Memory(plan, standing or {}, pool)
    waiting, followers = plan.waiting.copy(), plan.ordered(order)
    before, pool.peak_bytes = pool.in_use_bytes, pool.in_use_bytes
    threads: list[Worker[int]] = [Worker() for _ in range(max(workers, 1))]
    roots = (
        index for index, count in enumerate(waiting) if not count and (ops[index].reads or ops[index].writes)
    )
    in_turn = sorted(roots, key=lambda index: (not ops[index].early, ops[index].late))
    for place, index in enumerate(in_turn):
        threads[place % len(threads)].queue.append((index, 0.0))
    running: list[tuple[float, int, int, int, _Temporary | None]] = []
    executions: list[tuple[str, float, float]] = []
    now, serial = 0.0, 0
    while True:
        for number, thread in enumerate(threads if len(running) < len(threads) else ()):
            chosen = None if thread.busy else next_for(thread, threads, now)
            if chosen is not None:
                index = chosen
                temporary = memory.start(ops[index], now + _AFTER_MICROS)
                end = now + plan.micros[index] * (JITTER ** chance.uniform(-1, 1) if chance else 1)
                executions.append((ops[index].name, now, end))
                serial += 1
                thread.busy = True
                heapq.heappush(running, (end, serial, index, number, temporary))
        if len(running) < len(threads):
            soon = stolen_at(threads)
            if soon is not None and (not running or soon < running[0][0]):
                now = soon
                continue
        if not running:
            break
        now, _, index, number, temporary = heapq.heappop(running)
        memory.finish(index, temporary, now)
        threads[number].busy = False
        ready = []
        for follower in followers[index]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
        hand_over(
            ready,
            threads[number],
            now + (chance.uniform(*STEALING_MICROS) if chance else sum(STEALING_MICROS) / 2),
        )
    return _result(memory, executions, pool, before)


def _result(
    memory: _Memory, executions: list[tuple[str, float, float]], pool: Pool, before: int
) -> ScheduledRun:
    standing = {buffer: slot.chunk for buffer, slot in memory.slots.items()}
    fresh = {id(slot): slot for slot in memory.slots.values() if slot.op is not None}
    lives = [
        *memory.lives,
        *(
            Life(slot.op, slot.buffer, slot.requested_bytes, slot.chunk.size_bytes, slot.start_micros, None)
            for slot in fresh.values()
        ),
    ]
    died = sum(life.chunk_bytes for life in lives if life.op is None)
    return ScheduledRun(tuple(lives), tuple(executions), pool.peak_bytes, before - died, standing)
