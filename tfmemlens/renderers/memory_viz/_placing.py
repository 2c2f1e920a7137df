"""Addresses where a trace tells none: the smallest gap that fits, as a BFC allocator looks for it."""

from __future__ import annotations

from bisect import bisect_left, insort


class Placing:
    """A pool that grows at its end. Gaps are kept by size and address, and join with their neighbours."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self._gaps: list[tuple[int, int]] = []
        self._size_from: dict[int, int] = {}
        self._start_to: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The address of so many bytes."""
        at = bisect_left(self._gaps, (size, 0))
        if at == len(self._gaps):
            self.end += size
            return self.end - size
        room, address = self._gaps[at]
        self._drop(room, address)
        if room > size:
            self._add(room - size, address + size)
        return address

    def give(self, address: int, size: int) -> None:
        """What was taken is a gap again."""
        if (before := self._start_to.get(address)) is not None:
            self._drop(address - before, before)
            address, size = before, size + address - before
        if (after := self._size_from.get(address + size)) is not None:
            self._drop(after, address + size)
            size += after
        self._add(size, address)

    def _add(self, size: int, address: int) -> None:
        insort(self._gaps, (size, address))
        self._size_from[address] = size
        self._start_to[address + size] = address

    def _drop(self, size: int, address: int) -> None:
        del self._gaps[bisect_left(self._gaps, (size, address))]
        del self._size_from[address], self._start_to[address + size]
