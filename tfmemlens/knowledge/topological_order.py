"""The nodes of a graph, producers before consumers: the one order that everything here walks a graph in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from tfmemlens.knowledge.ops import roles
from tfmemlens.model.graph import Graph, Node, split_reference


def topological_order(graph: Graph, key: Callable[[str], tuple[int, str]] | None = None) -> Iterator[Node]:
    """Breadth first from the roots; a loop is entered at its Merge, which waits only for what comes from
    outside.

    Readers of a node follow in the graph's order, or sorted by `key` of their names. References to nodes that
    the graph lacks are passed over; nodes on any other circle come last, in the graph's order.
    """
    waiting: dict[str, int] = {}
    readers: dict[str, list[str]] = {}
    for node in graph:
        sources = dict.fromkeys(split_reference(reference)[0] for reference in node.inputs)
        awaited = [
            each for each in sources if each in graph.nodes and not _goes_back(graph.nodes[each], node)
        ]
        waiting[node.name] = len(awaited)
        for source in awaited:
            readers.setdefault(source, []).append(node.name)
    ready = deque(name for name, count in waiting.items() if not count)
    done: set[str] = set()
    while ready:
        name = ready.popleft()
        done.add(name)
        yield graph.nodes[name]
        for reader in _sorted(readers.get(name, []), key):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    yield from (node for node in graph if node.name not in done)


def _goes_back(source: Node, reader: Node) -> bool:
    return reader.op in roles.MERGES and source.op in roles.NEXTS


def _sorted(names: list[str], key: Callable[[str], tuple[int, str]] | None) -> list[str]:
    return names if key is None else sorted(names, key=key)
