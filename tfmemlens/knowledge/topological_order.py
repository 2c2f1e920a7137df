"""Producers before consumers: the one walk over what reads each other, nodes of a graph or layers' calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import TypeVar

from tfmemlens.knowledge.ops import roles
from tfmemlens.model.graph import Graph, Node, split_reference

_Place = tuple[int, int]
"""Of what is ready the lowest comes first."""
_START: _Place = (0, -1)
_Item = TypeVar("_Item", bound=Hashable)


def topological_order(graph: Graph, key: Callable[[str], tuple[int, str]] | None = None) -> Iterator[Node]:
    """Breadth first from the roots; a loop is entered at its Merge, which waits only for what comes from
    outside.

    Readers of a node follow in the graph's order, or sorted by `key` of their names. References to nodes that
    the graph lacks are passed over; nodes on any other circle come last, in the graph's order.
    """
    awaited = {}
    for node in graph:
        sources = dict.fromkeys(split_reference(reference)[0] for reference in node.inputs)
        awaited[node.name] = [
            each for each in sources if each in graph.nodes and not _goes_back(graph.nodes[each], node)
        ]
    came = count()
    names = _producers_first(
        awaited,
        lambda _, __: (next(came), 0),
        lambda readers: sorted(readers, key=key) if key else readers,
    )
    return (graph.nodes[name] for name in names)


def listed_order(awaited: Sequence[Collection[int]]) -> Iterator[int]:
    """Positions in a list, each after the positions that it awaits: the list is gone through from its start
    as often as it takes, and each time what is ready is taken, so that a list in order stays as it is. What
    is on a circle comes last.
    """
    return _producers_first(
        dict(enumerate(awaited)),
        lambda item, after: (after[0] + (item < after[1]), item),
        lambda readers: readers,
    )


def _producers_first(
    awaited: Mapping[_Item, Collection[_Item]],
    place: Callable[[_Item, _Place], _Place],
    sort: Callable[[list[_Item]], Iterable[_Item]],
) -> Iterator[_Item]:
    """Each item after the others that it awaits; `place` is asked for what becomes ready after the item at
    another place.
    """
    waiting = {item: len(others) for item, others in awaited.items()}
    readers: dict[_Item, list[_Item]] = {}
    for item, others in awaited.items():
        for other in others:
            readers.setdefault(other, []).append(item)
    ready: list[tuple[_Place, _Item]] = []
    for item, missing in waiting.items():
        if not missing:
            heappush(ready, (place(item, _START), item))
    while ready:
        here, item = heappop(ready)
        del waiting[item]
        yield item
        for reader in sort(readers.get(item, [])):
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, (place(reader, here), reader))
    yield from waiting


def _goes_back(source: Node, reader: Node) -> bool:
    return reader.op in roles.MERGES and source.op in roles.NEXTS
