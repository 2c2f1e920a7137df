"""Nodes of a graph that are made when somebody looks at them: a page looks at a thousand of a hundred
thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from tfmemlens.values import dataclass

NodeT = TypeVar("NodeT")


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """What a walk through a whole graph asks of its nodes: where each stands, and in that order their op
    types and inputs.
    """

    places: Mapping[str, int]
    ops: Sequence[str]
    inputs: Sequence[tuple[str, ...]]


class LazyNodes(Mapping[str, NodeT]):
    """Nodes by name; `make` gives the node of a name, and is asked once for each."""

    def __init__(self, columns: NodeColumns, make: Callable[[str], NodeT]) -> None:
        self.columns, self._make = columns, make
        self._made: dict[str, NodeT] = {}

    def __getitem__(self, name: str) -> NodeT:
        node = self._made.get(name)
        if node is None:
            if name not in self.columns.places:
                raise KeyError(name)
            node = self._made[name] = self._make(name)
        return node

    def __contains__(self, name: object) -> bool:
        return name in self.columns.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns.places)

    def __len__(self) -> int:
        return len(self.columns.places)
