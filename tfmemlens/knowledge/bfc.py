"""The BFC allocator itself, without memory: which chunk a request gets, what that leaves free, and when
nothing fits.

After bfc_allocator.cc of TensorFlow 1.15 and 2.21: requests are rounded up to 256 bytes; the smallest free
chunk that is large enough is taken, the lowest address among equals; it is split only when at least twice as
large as the request or 128 MiB larger; freed chunks merge with free neighbours of their region; a pool that
may grow takes regions from the device that double in size. So the sizes of chunks depend on the order of
events, and are reproduced by walking through them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from tfmemlens.units import ALIGNMENT, MIB, round_up

MAX_WASTE_BYTES = 128 * MIB
"""`kMaxInternalFragmentation`: a larger remainder is always split off."""
FIRST_REGION_BYTES = 2 * MIB
"""The first region of a growing pool from TensorFlow 2.4 on; 1 MiB before."""


def may_hold(chunk_bytes: int, tensor_bytes: int) -> bool:
    """Whether a chunk may have been given to a tensor of that size: a larger one would have been split."""
    rounded = round_up(tensor_bytes)
    return rounded <= chunk_bytes < min(2 * rounded, rounded + MAX_WASTE_BYTES)


class Chunk:
    """A piece of a region: `size_bytes` long at `address`, with its neighbours in the same region."""

    __slots__ = ("address", "following", "in_use", "preceding", "size_bytes")

    def __init__(self, address: int, size_bytes: int) -> None:
        self.address = address
        self.size_bytes = size_bytes
        self.in_use = False
        self.preceding: Chunk | None = None
        self.following: Chunk | None = None


class Pool:
    """One allocator. `limit_bytes` None: without end. `grows`: regions are added on demand; otherwise the
    whole limit is one region from the start.
    """

    def __init__(
        self, limit_bytes: int | None = None, grows: bool = True, first_region_bytes: int = FIRST_REGION_BYTES
    ) -> None:
        self._limit = limit_bytes
        self._next_region = first_region_bytes if grows or limit_bytes is None else limit_bytes // 256 * 256
        self._free: list[tuple[int, int, Chunk]] = []
        """By size and address, of which no two are the same: chunks themselves are never compared."""
        self._next_address = 0
        self.in_use_bytes = 0
        self.peak_bytes = 0
        self.pool_bytes = 0

    def allocate(self, request_bytes: int) -> Chunk | None:
        """The chunk for a request of so many bytes, None when it does not fit. A request of 0 bytes holds an
        empty chunk.
        """
        rounded = -(-request_bytes // ALIGNMENT) * ALIGNMENT  # `round_up`, for which there is no time
        if rounded == 0:
            return Chunk(-1, 0)
        chunk = self._take(rounded)
        if chunk is None and self._extend(rounded):
            chunk = self._take(rounded)
        if chunk is None:
            return None
        self.in_use_bytes += chunk.size_bytes
        if self.in_use_bytes > self.peak_bytes:
            self.peak_bytes = self.in_use_bytes
        return chunk

    def free(self, chunk: Chunk) -> None:
        """Give a chunk back; it merges with free neighbours."""
        if not chunk.size_bytes:
            return
        self.in_use_bytes -= chunk.size_bytes
        chunk.in_use = False
        free = self._free
        if (after := chunk.following) is not None and not after.in_use:
            del free[bisect_left(free, (after.size_bytes, after.address, after))]
            _merge(chunk, after)
        if (before := chunk.preceding) is not None and not before.in_use:
            del free[bisect_left(free, (before.size_bytes, before.address, before))]
            _merge(before, chunk)
            chunk = before
        insort(free, (chunk.size_bytes, chunk.address, chunk))

    def _take(self, rounded: int) -> Chunk | None:
        free = self._free
        at = bisect_left(free, (rounded, -1, _NO_CHUNK))
        if at == len(free):
            return None
        size, address, chunk = free.pop(at)
        if size >= 2 * rounded or size - rounded >= MAX_WASTE_BYTES:
            rest = Chunk(address + rounded, size - rounded)
            rest.preceding, rest.following = chunk, chunk.following
            if rest.following is not None:
                rest.following.preceding = rest
            chunk.size_bytes, chunk.following = rounded, rest
            insort(free, (rest.size_bytes, rest.address, rest))
        chunk.in_use = True
        return chunk

    def _extend(self, rounded: int) -> bool:
        """BFCAllocator::Extend: the next region, doubled until the request fits, and no larger than what the
        limit leaves.
        """
        left = (self._limit - self.pool_bytes) // 256 * 256 if self._limit is not None else None
        if left is not None and rounded > left:
            return False
        enlarged = False
        while rounded > self._next_region:
            self._next_region *= 2
            enlarged = True
        size = self._next_region if left is None else min(self._next_region, left)
        if not enlarged:
            self._next_region *= 2
        region = Chunk(self._next_address, size)
        self._next_address += size + 4096
        self.pool_bytes += size
        insort(self._free, (size, region.address, region))
        return True


_NO_CHUNK = Chunk(-1, 0)


def _merge(chunk: Chunk, after: Chunk) -> None:
    chunk.size_bytes += after.size_bytes
    chunk.following = after.following
    if chunk.following is not None:
        chunk.following.preceding = chunk


Call = tuple[int, int]
"""One call of an allocator: the number of the chunk, and the bytes asked for, 0 where it is given back."""


class RecordedPool(Pool):
    """A pool without a limit that remembers its calls, so that the same ones can be put to a pool with one.
    Requests of 0 bytes are left out: they take nothing.
    """

    def __init__(self, first_region_bytes: int = FIRST_REGION_BYTES) -> None:
        super().__init__(first_region_bytes=first_region_bytes)
        self.first_region_bytes = first_region_bytes
        self.calls: list[Call] = []
        self._numbers: dict[Chunk, int] = {}

    def allocate(self, request_bytes: int) -> Chunk | None:
        """As `Pool.allocate`."""
        chunk = super().allocate(request_bytes)
        if chunk is not None and chunk.size_bytes:
            self._numbers[chunk] = len(self.calls)
            self.calls.append((len(self.calls), request_bytes))
        return chunk

    def free(self, chunk: Chunk) -> None:
        """As `Pool.free`."""
        if chunk.size_bytes:
            self.calls.append((self._numbers.pop(chunk), 0))
        super().free(chunk)


def serves(calls: Sequence[Call], limit_bytes: int, first_region_bytes: int = FIRST_REGION_BYTES) -> bool:
    """Whether a growing pool with this limit has a chunk for every request."""
    return _walk(calls, Pool(limit_bytes, first_region_bytes=first_region_bytes)) is not None


def smallest_limit(
    calls: Sequence[Call], at_least: int, within: int = 256, first_region_bytes: int = FIRST_REGION_BYTES
) -> int:
    """The smallest limit in bytes, not below `at_least`, that serves the calls, to `within` bytes (at least
    256, the unit of chunks): by bisection, as if what serves them under one limit did so under all larger
    ones. What it returns does serve them.
    """
    if serves(calls, at_least, first_region_bytes):
        return at_least
    pool = Pool(first_region_bytes=first_region_bytes)
    _walk(calls, pool)
    too_small, enough = at_least // 256, pool.pool_bytes // 256
    while enough - too_small > max(within // 256, 1):
        middle = (too_small + enough) // 2
        if serves(calls, 256 * middle, first_region_bytes):
            enough = middle
        else:
            too_small = middle
    return 256 * enough


def _walk(calls: Sequence[Call], pool: Pool) -> Pool | None:
    """The pool after these calls, None where it could not serve one."""
    chunks: dict[int, Chunk] = {}
    for number, request in calls:
        if not request:
            pool.free(chunks.pop(number))
            continue
        chunk = pool.allocate(request)
        if chunk is None:
            return None
        chunks[number] = chunk
    return pool
