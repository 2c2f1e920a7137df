"""A step played through on paper: which tensors of a graph are alive together, if ops run as soon as they
can.

An estimate: the executor may run ready ops in another order, kernels take workspaces, the allocator rounds.
Weights and constants stay out, since they stand in either case; a loop's body counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from tfmemlens.knowledge.ops import roles
from tfmemlens.knowledge.ops.table import Output, op, passes_on
from tfmemlens.knowledge.ops.type_inference import Types
from tfmemlens.knowledge.topological_order import topological_order
from tfmemlens.model.graph import Graph, Node, split_reference

_STANDING = roles.STORED | roles.ASSIGNS


def peak(graph: Graph, types: Types, left_out: Collection[str] = ()) -> int:
    """The most bytes alive at once; nodes in `left_out` pass their input on instead of copying it."""
    return SimulatedStep(graph, types).peak(left_out)


class SimulatedStep:
    """The ops of a step in their order, for any nodes that are left out."""

    def __init__(self, graph: Graph, types: Types) -> None:
        self._types = types
        self._ops = [
            (
                node,
                [split_reference(each) for each in node.inputs if not each.startswith("^")],
                Counter(port for _, _, port in graph.consumers.get(node.name, ())),
            )
            for node in topological_order(graph)
        ]
        """Each with what it reads, and how many read which of its outputs."""

    def peak(self, left_out: Collection[str] = ()) -> int:
        """As the function `peak`."""
        return _Memory(self._types, frozenset(left_out)).run(self._ops)


class _Memory:
    """Buffers with their sizes and the reads that are still to come."""

    def __init__(self, types: Types, left_out: frozenset[str]) -> None:
        self.types, self.left_out = types, left_out
        self.buffer: dict[tuple[str, int], int] = {}
        self.size: list[int] = []
        self.reads: list[int] = []
        self.live = self.highest = 0

    def run(self, ops: Iterable[tuple[Node, Sequence[tuple[str, int]], Mapping[int, int]]]) -> int:
        """The most bytes alive at once when these run one after the other."""
        for node, references, readers in ops:
            inputs = [self.buffer.get(each, -1) for each in references]
            made = [
                self._output(node, port, inputs, readers.get(port, 0))
                for port in range(max(len(self.types.get(node.name, ())), 1))
            ]
            self.highest = max(self.highest, self.live)
            for index in inputs:
                self._read(index)
            for index in made:
                if index >= 0 and not self.reads[index]:
                    self._free(index)
        return self.highest

    def _output(self, node: Node, port: int, inputs: list[int], readers: int) -> int:
        held = self._kept(node, port, inputs)
        if held is None:
            held = len(self.size)
            self.size.append(0 if node.op in _STANDING else self._bytes(node, port))
            self.reads.append(0)
            self.live += self.size[held]
        if held >= 0:
            self.reads[held] += readers
            self.buffer[node.name, port] = held
        return held

    def _kept(self, node: Node, port: int, inputs: list[int]) -> int | None:
        """The input's buffer that this output lives in; None for a new one, -1 for one that is not known."""
        if (passes_on(node.op) or node.name in self.left_out) and inputs:
            return inputs[port] if node.op == "IdentityN" and port < len(inputs) else inputs[0]
        if op(node.op).output is Output.OVERWRITTEN and port == 0:
            size = self._bytes(node, 0)
            return next(
                (
                    index
                    for index in inputs
                    if index >= 0 and self.reads[index] == 1 and self.size[index] == size > 0
                ),
                None,
            )
        return None

    def _bytes(self, node: Node, port: int) -> int:
        types = self.types.get(node.name, ())
        return (types[port].bytes or 0) if port < len(types) else 0

    def _read(self, index: int) -> None:
        if index >= 0:
            self.reads[index] -= 1
            if not self.reads[index]:
                self._free(index)

    def _free(self, index: int) -> None:
        self.live -= self.size[index]
        self.size[index] = 0
