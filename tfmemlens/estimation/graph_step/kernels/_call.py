"""One execution of a node: what a kernel may ask for, and how it registers itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfmemlens.errors import MalformedNode, NotUnderstood
from tfmemlens.estimation.graph_step.tokens import Memory, Shape, Token, TokenBuffer, Variable
from tfmemlens.knowledge.ops.dtypes import dtypes_of
from tfmemlens.knowledge.ops.shapes import ShapeContext
from tfmemlens.knowledge.ops.table import Op, op
from tfmemlens.knowledge.ops.type_inference import shapes_of
from tfmemlens.knowledge.ops.values import values_of
from tfmemlens.model.graph import Node
from tfmemlens.values import dataclass

_WHOLE = frozenset(("int32", "int64", "bool", "uint32", "uint64", "int16", "int8", "uint8"))
ALIGNED = 64
"""Bytes to which Eigen wants its tensors aligned: slices that are not are copied."""
HANDLE_BYTES = 64


class UnknownShapeError(NotUnderstood):
    """Neither the inputs nor the graph tell the shape of an output."""


@dataclass(slots=True)
class KernelCall:
    """One execution of a node: what came in, and the ways to make what goes out."""

    node: Node
    inputs: Sequence[Token]
    memory: Memory
    threads: int
    state: dict[str, Any]
    """What outlives the execution: variables, stacks, arrays, by the node that made them."""
    scratch: list[TokenBuffer]

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute of the node."""
        value = self.node.attributes.get(name)
        return default if value is None else value

    def input(self, index: int) -> Token:
        """What came in there. Raises MalformedNode where the node has no such input."""
        if not -len(self.inputs) <= index < len(self.inputs):
            raise MalformedNode(f"input {index} is missing")
        return self.inputs[index]

    def number(self, name: str, default: int) -> int:
        """A whole-number attribute. Raises MalformedNode where it is something else."""
        stated = self.attribute(name, default)
        if not isinstance(stated, int):
            raise MalformedNode(f"its {name} is no number")
        return stated

    @property
    def record(self) -> Op:
        """What the table of ops knows of the node's op."""
        return op(self.node.op)

    @property
    def site(self) -> ShapeContext:
        """The call as shape rules see it."""
        return ShapeContext(self.node, self.inputs, [each.values for each in self.inputs])

    def results(self, *guesses: Shape | None) -> list[Token]:
        """The outputs as the table has them, still without buffers. A shape that the inputs leave open is
        what the graph states, else the guess. Raises UnknownShapeError where there is none, and
        MalformedNode.
        """
        site, record = self.site, self.record
        shapes = shapes_of(site)
        shapes += [None] * (len(guesses) - len(shapes))
        dtypes = dtypes_of(site, record, len(shapes))
        numbers = values_of(site, record.values)
        made = []
        for port, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
            sizes = known(shape)
            if sizes is None:
                sizes = self.stated(port)
            if sizes is None and port < len(guesses):
                sizes = guesses[port]
            if sizes is None:
                raise UnknownShapeError(f"the shape of {self.node.name}:{port} is not known")
            token = Token(sizes, dtype or self.dtype)
            if port < len(numbers) and token.dtype in _WHOLE:
                token.values = known(numbers[port])
            made.append(token)
        return made

    def result(self, guess: Shape | None = None) -> Token:
        """The first output, as `results` has it."""
        made = self.results(guess)
        if not made:
            raise UnknownShapeError(f"the outputs of {self.node.name} are not known")
        return made[0]

    def stated(self, port: int) -> Shape | None:
        """The shape that the graph states for an output, None where it leaves a size open."""
        return known(self.node.outputs[port].shape) if port < len(self.node.outputs) else None

    @property
    def dtype(self) -> str:
        """The node's main type."""
        stated = self.attribute("T") or self.attribute("dtype")
        if isinstance(stated, str):
            return stated
        return self.inputs[0].dtype if self.inputs else "float32"

    def output(
        self, shape: Sequence[int], dtype: str | None = None, values: tuple[int, ...] | None = None
    ) -> Token:
        """A tensor in a buffer of its own."""
        return self.fresh(Token(tuple(shape), dtype or self.dtype, values))

    def fresh(self, token: Token) -> Token:
        """The tensor, in a buffer of its own."""
        size = token.bytes
        if size:
            token.buffer = self.memory.allocate(self.node.name, self.node.op, size, token.shape, token.dtype)
        return token

    def alias(self, index: int, shape: Sequence[int] | None = None, dtype: str | None = None) -> Token:
        """The input itself, perhaps under another shape."""
        source = self.input(index)
        return Token(
            source.shape if shape is None else tuple(shape),
            dtype or source.dtype,
            source.values,
            source.buffer,
            resource=source.resource,
        )

    def forward(self, indices: Iterable[int], token: Token) -> Token:
        """In place of the first of these inputs that has the size and that nobody else holds; else in a
        buffer of its own.
        """
        count = math.prod(token.shape)
        for index in indices:
            source = self.input(index)
            if source.dtype == token.dtype and math.prod(source.shape) == count and self.is_last(source):
                token.buffer = source.buffer
                return token
        return self.fresh(token)

    def is_last(self, token: Token) -> bool:
        """Whether this call alone holds the input's buffer."""
        return token.buffer is not None and not token.buffer.persistent and token.buffer.holders == 1

    def temporary(self, shape: Sequence[int], dtype: str = "float32", size_bytes: int | None = None) -> None:
        """Scratch memory until the kernel is done."""
        size = Token(tuple(shape), dtype).bytes if size_bytes is None else size_bytes
        if size:
            self.scratch.append(self.memory.temporary(self.node.name, self.node.op, size, shape, dtype))

    def values(self, index: int) -> tuple[int, ...] | None:
        """The known values of an input."""
        return self.inputs[index].values if index < len(self.inputs) else None


Kernel = Callable[[KernelCall], list[Token]]
KERNELS: dict[str, Kernel] = {}


def kernel(*ops: str) -> Callable[[Kernel], Kernel]:
    """Registers a function for these ops."""

    def register(function: Kernel) -> Kernel:
        KERNELS.update(dict.fromkeys(ops, function))
        return function

    return register


def known(sizes: Sequence[int | None] | None) -> Shape | None:
    """A shape or a vector of which every number is known, else None."""
    if sizes is None or None in sizes:
        return None
    return tuple(sizes)  # type: ignore[arg-type]


def variable_of(token: Token) -> Token:
    """The tensor of the variable that a handle names. Raises MalformedNode."""
    if not isinstance(token.resource, Variable):
        raise MalformedNode("its input is no variable's handle")
    return token.resource.token


def list_of(call: KernelCall, elements: Sequence[Token]) -> Token:
    """A handle that holds these tensors."""
    token = Token((), "variant")
    token.buffer = call.memory.allocate(call.node.name, call.node.op, HANDLE_BYTES, (), "variant")
    token.buffer.elements = list(elements)
    for each in elements:
        call.memory.hold(each.buffer)
    return token


def elements(token: Token) -> list[Token]:
    """The tensors in a list, by its handle."""
    held = token.buffer.elements if token.buffer is not None else None
    return [] if held is None else held
