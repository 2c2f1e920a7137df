"""The computation graph, as far as memory cares: who computes what from what, of which shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from tfmemlens.model.tensor import TensorType
from tfmemlens.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Node:
    """One node: `inputs` are `name`, `name:port` or `^name` (control), as a GraphDef spells them."""

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    device: str = ""
    attributes: Mapping[str, object] = field(default_factory=dict)
    outputs: tuple[TensorType, ...] = ()
    """Types of the outputs where the graph carries them (`_output_shapes`), else empty."""
    source: str | None = None
    """The user's line of code, where the graph carries it."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's arguments by name, the references that are its results, and the nodes that it runs whether
    or not a result needs them.
    """

    arguments: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Nodes by name. Joined when there is one; never required."""

    nodes: Mapping[str, Node]
    functions: Mapping[str, Graph] = field(default_factory=dict)
    producer: str | None = None
    """The TensorFlow version that made it, where known."""
    signature: Signature | None = None
    """Of a function's body: what goes in and comes out."""

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    @cached_property
    def ops(self) -> frozenset[str]:
        """The op types of its nodes: a few hundred, however large the graph."""
        return frozenset({node.op for node in self.nodes.values()})

    @cached_property
    def consumers(self) -> Mapping[str, tuple[tuple[str, int, int], ...]]:
        """For each node the (consumer, its input index, our output port) that read it; control edges left
        out.
        """
        reads: dict[str, Any] = defaultdict(list)
        for node in self.nodes.values():
            name = node.name
            for index, reference in enumerate(node.inputs):
                if ":" in reference or reference.startswith("^"):
                    if not reference.startswith("^"):
                        producer, port = split_reference(reference)
                        reads[producer].append((name, index, port))
                else:  # most inputs name a first output
                    reads[reference].append((name, index, 0))
        for name, readers in reads.items():
            reads[name] = tuple(readers)  # in place: a graph of 100,000 nodes has no room for two
        return dict(reads)

    @cached_property
    def waiters(self) -> Mapping[str, tuple[str, ...]]:
        """For each node those that only wait for it."""
        waiting: dict[str, list[str]] = {}
        for node in self.nodes.values():
            for reference in node.inputs:
                if reference.startswith("^"):
                    waiting.setdefault(reference[1:], []).append(node.name)
        return {name: tuple(readers) for name, readers in waiting.items()}


def variables_on(graph: Graph, devices: str) -> Iterator[Node]:
    """The resource variables of these devices (`, ` between their names), slots among them: they are no op's
    output, but the graph has their shapes.
    """
    places = devices.split(", ")
    return (
        node
        for node in graph
        if node.op == "VarHandleOp" and (node.device in places or node.device.count(":") < 4)
    )


def split_reference(reference: str) -> tuple[str, int]:
    """`name:port` as (name, port); the port is 0 when left out. Function bodies write `name:output:0`."""
    name, _, rest = reference.removeprefix("^").partition(":")
    port = rest.rpartition(":")[2]
    return name, int(port) if port.isdigit() else 0
