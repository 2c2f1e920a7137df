"""A graph as the executor keeps it: the nodes that the fetches need, by number, each with its outgoing
edges.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfmemlens.knowledge.ops.cheap_runs import RUNS, cheap_bytes
from tfmemlens.knowledge.ops.table import op
from tfmemlens.model.graph import Graph, Node, split_reference
from tfmemlens.values import dataclass, field


@dataclass(slots=True)
class Edge:
    """From an output port (None: control) to an input of a consumer."""

    target: int
    slot: int
    port: int | None


@dataclass(slots=True)
class Item:
    """A node as the executor keeps it."""

    node: Node
    inputs: int
    """Data inputs."""
    controls: int
    edges: list[Edge] = field(default_factory=list)
    expensive: bool = True
    runs: int = 0
    bytes: int = 0
    """Read and written by the last run."""
    cheap_bytes: int = 0
    """Up to as many it gets cheap."""

    @property
    def is_expensive(self) -> bool:
        """Whether the executor takes it for expensive by now."""
        return self.expensive and (self.runs < RUNS or self.bytes > self.cheap_bytes)

    @property
    def ports(self) -> int:
        """How many outputs are read, counted to the last one."""
        return 1 + max((edge.port for edge in self.edges if edge.port is not None), default=-1)


def needed(graph: Graph, fetches: Iterable[str]) -> list[str]:
    """The nodes that the fetches need, in the graph's order."""
    wanted: set[str] = set()
    stack = [split_reference(name)[0] for name in fetches]
    while stack:
        name = stack.pop()
        if name in wanted or name not in graph.nodes:
            continue
        wanted.add(name)
        stack += [split_reference(reference)[0] for reference in graph.nodes[name].inputs]
    return [name for name in graph.nodes if name in wanted]


def compiled(graph: Graph, fetches: Iterable[str]) -> list[Item]:
    """The nodes that the fetches need, in the graph's order, numbered and joined by edges."""
    names = needed(graph, fetches)
    place = {name: index for index, name in enumerate(names)}
    items = []
    for name in names:
        node = graph.nodes[name]
        data = sum(not reference.startswith("^") for reference in node.inputs)
        items.append(
            Item(
                node, data, len(node.inputs) - data, expensive=not op(node.op).quick,
                cheap_bytes=cheap_bytes(node.op, graph.version),
            )
        )  # fmt: skip
    for index, item in enumerate(items):
        slot = 0
        for reference in item.node.inputs:
            source, port = split_reference(reference)
            control = reference.startswith("^")
            if source not in place:
                continue
            items[place[source]].edges.append(Edge(index, slot, None if control else port))
            slot += not control
    return items
