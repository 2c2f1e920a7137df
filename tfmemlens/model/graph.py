"""The computation graph, as far as memory cares: who computes what from what, of which shape."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain

from tfmemlens.model.lazy_nodes import LazyNodes, NodeColumns
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, field

_VERSION = regex(r"(\d+)\.(\d+)")


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

    @property
    def version(self) -> tuple[int, ...]:
        """The first two numbers of the TensorFlow that made it, none where that is not known."""
        match = _VERSION.match(self.producer or "")
        return (int(match[1]), int(match[2])) if match else ()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    @cached_property
    def ops(self) -> frozenset[str]:
        """The op types of its nodes: a few hundred, however large the graph."""
        return frozenset(self._names_by_op)

    def op_of(self, name: str) -> str | None:
        """The op type of a node, None where there is no such node."""
        place = self._columns.places.get(name)
        return None if place is None else self._columns.ops[place]

    def inputs_of(self, name: str) -> tuple[str, ...]:
        """The inputs of a node, none where there is no such node."""
        place = self._columns.places.get(name)
        return () if place is None else self._columns.inputs[place]

    def sources_of(self, name: str) -> list[str]:
        """The nodes whose outputs a node reads, in the order of its inputs; none for an unknown node."""
        return data_sources(self.inputs_of(name))

    def of_ops(self, ops: Collection[str]) -> Iterator[Node]:
        """The nodes of these op types, in the order of the graph; no other node is looked at."""
        return (self.nodes[name] for name in self.names_of_ops(ops))

    def names_of_ops(self, ops: Collection[str]) -> Sequence[str]:
        """The same without looking at any node."""
        of_each = [self._names_by_op[op] for op in ops if op in self._names_by_op]
        if len(of_each) < 2:
            return of_each[0] if of_each else ()
        return sorted(chain.from_iterable(of_each), key=self._columns.places.__getitem__)

    @cached_property
    def _names_by_op(self) -> Mapping[str, Sequence[str]]:
        """The nodes of each op type, in the order of the graph."""
        names: dict[str, list[str]] = defaultdict(list)
        for name, op in zip(self._columns.places, self._columns.ops, strict=True):
            names[op].append(name)
        return names

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Reading, ...]]:
        """For each node the (consumer, its input index, our output port) that read it; control edges left
        out.
        """
        return Consumers(self._columns)

    @cached_property
    def waiters(self) -> Mapping[str, tuple[str, ...]]:
        """For each node those that only wait for it."""
        waiting: dict[str, list[str]] = {}
        for name, references in zip(self._columns.places, self._columns.inputs, strict=True):
            for reference in references:
                if reference.startswith("^"):
                    waiting.setdefault(reference[1:], []).append(name)
        return {name: tuple(readers) for name, readers in waiting.items()}

    @cached_property
    def _columns(self) -> NodeColumns:
        if isinstance(self.nodes, LazyNodes):
            return self.nodes.columns
        nodes = self.nodes.values()
        places = {name: place for place, name in enumerate(self.nodes)}
        return NodeColumns(places, [node.op for node in nodes], [node.inputs for node in nodes])


def variables_on(graph: Graph, devices: str) -> Iterator[Node]:
    """The resource variables of these devices (`, ` between their names), slots among them: they are no op's
    output, but the graph has their shapes.
    """
    places = devices.split(", ")
    variables = graph.of_ops(("VarHandleOp",))
    return (node for node in variables if node.device in places or node.device.count(":") < 4)


Reading = tuple[str, int, int]
"""A consumer, which of its inputs it is, and which output it reads."""


class Consumers(Mapping[str, tuple[Reading, ...]]):
    """For each node those that read it, in the order of the graph: worked out for the nodes that are asked
    for, since few of a big graph are.
    """

    def __init__(self, nodes: NodeColumns) -> None:
        self._names = [*nodes.places]
        self._ends = array("L", accumulate(map(len, nodes.inputs)))
        """How many references the nodes up to each have."""
        self._last: dict[str, int] = {}
        """The number of the last of all references that read so."""
        self._before = array("l")
        """For each reference the number of the one before it that reads the same, -1 for the first."""
        last, before = self._last, self._before
        for number, reference in enumerate(chain.from_iterable(nodes.inputs)):
            before.append(last.get(reference, -1))
            last[reference] = number
        self._numbered: dict[str, list[str]] = defaultdict(list)
        """The references that name an output by its number, by their node."""
        for reference in last:
            if ":" in reference and not reference.startswith("^"):
                self._numbered[split_reference(reference)[0]].append(reference)

    def __getitem__(self, name: str) -> tuple[Reading, ...]:
        first = [name] if name in self._last and _is_name(name) else []
        references = [*first, *self._numbered.get(name, ())]
        if not references:
            raise KeyError(name)
        numbers = sorted(
            (number, split_reference(reference)[1])
            for reference in references
            for number in self._all(reference)
        )
        return tuple([(*self._reader(number), port) for number, port in numbers])

    def _all(self, reference: str) -> Iterator[int]:
        number = self._last[reference]
        while number >= 0:
            yield number
            number = self._before[number]

    def _reader(self, number: int) -> tuple[str, int]:
        """Whose reference it is, and which of its inputs."""
        place = bisect_right(self._ends, number)
        return self._names[place], number - (self._ends[place - 1] if place else 0)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*filter(_is_name, self._last), *self._numbered]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _is_name(reference: str) -> bool:
    return ":" not in reference and not reference.startswith("^")


def data_sources(references: Iterable[str]) -> list[str]:
    """The nodes whose outputs these inputs are, control edges left out."""
    return [split_reference(reference)[0] for reference in references if not reference.startswith("^")]


def split_reference(reference: str) -> tuple[str, int]:
    """`name:port` as (name, port); the port is 0 when left out. Function bodies write `name:output:0`."""
    name, _, rest = reference.removeprefix("^").partition(":")
    port = rest.rpartition(":")[2]
    return name, int(port) if port.isdigit() else 0
