"""Columns that are worked out when somebody looks: a page shows a hundred rows of a million."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class LazyColumn(Sequence[T]):
    """A column whose entries are made all at once, at the first look."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make
        self._made: Sequence[T] | None = None

    def _all(self) -> Sequence[T]:
        if self._made is None:
            self._made = self._make()
        return self._made

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())


class ComputedColumn(Sequence[T]):
    """A column whose entries are made one by one, from their index."""

    def __init__(self, length: int, entry: Callable[[int], T]) -> None:
        self._length, self._entry = length, entry

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return list(map(self._entry, range(*index.indices(self._length))))
        return self._entry(range(self._length)[index])

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return map(self._entry, range(self._length))
