"""The queues of TensorFlow 1 that keep elements of an input pipeline: in a program's calls, in a graph.

`tf.train.shuffle_batch` puts single elements into a RandomShuffleQueue and gives none before
`min_after_dequeue` of them are in it; `tf.train.batch` has a FIFOQueue. Both lie in the host's memory.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tfmemlens.knowledge.tree_values import ARITHMETIC, dotted, last_name
from tfmemlens.model.graph import Graph
from tfmemlens.model.line import Line
from tfmemlens.model.program import Program
from tfmemlens.model.tensor import TensorType
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass

QUEUES = ("RandomShuffleQueueV2", "FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2")
QUEUE_CALL = regex(
    r"\b(?P<call>(?:maybe_)?shuffle_batch(?:_join)?|(?<=train\.)(?:maybe_)?batch(?:_join)?"
    r"|RandomShuffleQueue|(?:Padding)?FIFOQueue|PriorityQueue)\("
)
"""A call that makes a queue, in a line of code."""
OF_A_QUEUE = regex(r"\AQueue(?:De|En)queue|(?:\A|[/_])(?:random_shuffle|(?:padding_)?fifo|priority)_queue")
"""An op of a queue, or a node whose name TensorFlow gave it for one."""
_OWN_NAME = regex(r"/(?:random_shuffle|(?:padding_)?fifo|priority)_queue(?:_\d+)?\Z")
CAPACITY, LEAST = "capacity", "min_after_dequeue"
_OF_BATCH: Mapping[str, tuple[str, ...]] = {
    "shuffle_batch": ("", "batch_size", CAPACITY, LEAST),
    "shuffle_batch_join": ("", "batch_size", CAPACITY, LEAST),
    "maybe_shuffle_batch": ("", "batch_size", CAPACITY, LEAST),
    "maybe_shuffle_batch_join": ("", "batch_size", CAPACITY, LEAST),
    "batch": ("", "batch_size", "num_threads", CAPACITY),
    "batch_join": ("", "batch_size", CAPACITY),
    "maybe_batch": ("", "", "batch_size", "num_threads", CAPACITY),
    "maybe_batch_join": ("", "", "batch_size", CAPACITY),
    "RandomShuffleQueue": (CAPACITY, LEAST),
    "FIFOQueue": (CAPACITY,),
    "PaddingFIFOQueue": (CAPACITY,),
    "PriorityQueue": (CAPACITY,),
}
"""Where the calls take what bounds a queue, by place."""
_PLAIN_WORDS = ("batch", "batch_join", "maybe_batch", "maybe_batch_join")
"""Names that other objects have for other things: `ds.batch(32)`."""


@dataclass(frozen=True, slots=True)
class QueueOfGraph:
    """A queue in a graph, and the types of the elements that it takes."""

    name: str
    capacity: int | None
    least: int | None
    elements: tuple[TensorType, ...]

    @property
    def scope(self) -> str:
        """What the program calls it: `pool` of `pool/random_shuffle_queue`."""
        return _OWN_NAME.sub("", self.name)

    @property
    def label(self) -> str:
        """As it stands among owners."""
        return f"{self.scope} (queue)"


def queues_of(graph: Graph | None) -> Iterator[QueueOfGraph]:
    """The queues of a graph, in its order."""
    for node in graph.of_ops(QUEUES) if graph is not None else ():
        dtypes, shapes = node.attributes.get("component_types"), node.attributes.get("shapes")
        pairs = zip(_listed(dtypes), _listed(shapes), strict=False)
        elements = tuple(
            TensorType(shape, dtype)
            for dtype, shape in pairs
            if isinstance(dtype, str) and isinstance(shape, tuple) and None not in shape
        )
        yield QueueOfGraph(
            node.name,
            _positive(node.attributes.get(CAPACITY)),
            _positive(node.attributes.get(LEAST)),
            elements,
        )


def _listed(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


class Bound(NamedTuple):
    """What a call says of a queue's length: its value where that is known, and the one name that has it."""

    value: int | None
    name: str = ""
    line: Line | None = None


@dataclass(frozen=True, slots=True)
class QueueOfProgram:
    """A call of the program that makes a queue."""

    call: str
    name: str
    """What its `name` says, empty where it says nothing."""
    line: Line
    capacity: Bound | None
    least: Bound | None
    batch: int | None


def called_queues(program: Program, numbers: Mapping[str, tuple[int, Line]]) -> Iterator[QueueOfProgram]:
    """The calls of a program that make queues; `numbers` are the names that it gives whole numbers."""
    known = _Numbers(program, numbers)
    seen: set[tuple[str, int]] = set()
    for statement in program:
        for node in statement.nodes:
            call = last_name(node.func) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or call not in _OF_BATCH:
                continue
            if call in _PLAIN_WORDS and "train" not in dotted(node.func).split("."):
                continue
            line = statement.line_of(node)
            if (line.source, line.number) in seen:
                continue
            seen.add((line.source, line.number))
            given = dict(zip(_OF_BATCH[call], node.args, strict=False))
            given |= {each.arg: each.value for each in node.keywords if each.arg}
            name = getattr(given.get("name"), "value", None)
            yield QueueOfProgram(
                call,
                name if isinstance(name, str) else "",
                line,
                known.bound(given.get(CAPACITY)),
                known.bound(given.get(LEAST)),
                known.value(given.get("batch_size")),
            )


_DEEPEST = 4


class _Numbers:
    """What the names and sums of a program come to."""

    def __init__(self, program: Program, numbers: Mapping[str, tuple[int, Line]]) -> None:
        self._numbers = numbers
        self._assigned: dict[str, list[ast.expr]] = {}
        for statement in program:
            for node in statement.nodes:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    self._assigned.setdefault(node.targets[0].id, []).append(node.value)

    def bound(self, node: ast.expr | None) -> Bound | None:
        """What an argument bounds; None where it is not given."""
        if node is None:
            return None
        if isinstance(node, ast.Name) and node.id in self._numbers:
            value, line = self._numbers[node.id]
            return Bound(value, node.id, line)
        return Bound(self.value(node), last_name(node))

    def value(self, node: ast.expr | None, deep: int = 0) -> int | None:
        """A sum or a product of numbers and of names that are assigned once; None of anything else."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.Name):
            if node.id in self._numbers:
                return self._numbers[node.id][0]
            once = self._assigned.get(node.id, [])
            return self.value(once[0], deep + 1) if len(once) == 1 and deep < _DEEPEST else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            left, right = self.value(node.left, deep), self.value(node.right, deep)
            known = left is not None and right is not None
            return int(ARITHMETIC[type(node.op)](left, right)) if known else None
        return None


def queue_named(name: str, queues: Collection[QueueOfProgram]) -> QueueOfProgram | None:
    """The call that made a queue of a graph: the one with its last name, else the only one."""
    last = name.rpartition("/")[2]
    named = [each for each in queues if each.name and each.name == last]
    named = named or [each for each in queues if last.startswith(each.call)]
    found = named or list(queues)
    return found[0] if len(found) == 1 else None
