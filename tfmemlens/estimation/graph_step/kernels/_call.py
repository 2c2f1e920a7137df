"""One execution of a node: what a kernel may ask for, and how it registers itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfmemlens.estimation.graph_step.tokens import Memory, Shape, Token, TokenBuffer
from tfmemlens.model.graph import Node
from tfmemlens.model.tensor import TensorType

ELEMENTWISE = frozenset(
    """
        Abs Acos Acosh Add AddV2 Asin Asinh Atan Atan2 Atanh BiasAddV1 Ceil Cos Cosh Digamma Div DivNoNan Elu
        EluGrad Equal Erf Erfc Exp Expm1 Floor FloorDiv FloorMod Greater GreaterEqual Inv InvGrad IsFinite
        IsInf IsNan LeakyReluGrad Less LessEqual Lgamma Log Log1p LogicalAnd LogicalNot LogicalOr Maximum
        Minimum Mod Mul MulNoNan Neg NotEqual Pow RealDiv Reciprocal ReciprocalGrad Relu6Grad ReluGrad Rint
        Round Rsqrt RsqrtGrad Selu SeluGrad Sigmoid SigmoidGrad Sign Sin Sinh Softplus SoftplusGrad Softsign
        SoftsignGrad Sqrt SqrtGrad Square SquaredDifference Sub Tan Tanh TanhGrad TruncateDiv TruncateMod
        Xdivy Xlog1py Xlogy
    """.split()
)
"""Ops whose result has the broadcast shape of their inputs and may take the place of one."""
WHOLE = ("int32", "int64", "bool", "uint32", "uint64", "int16", "int8", "uint8")
ALIGNED = 64
"""Bytes to which Eigen wants its tensors aligned: slices that are not are copied."""
HANDLE_BYTES = 64


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
        found = self.node.attributes.get(name)
        return default if found is None else found

    @property
    def dtype(self) -> str:
        """The node's main type."""
        found = self.attribute("T") or self.attribute("dtype")
        return str(found) if isinstance(found, str) else (self.inputs[0].dtype if self.inputs else "float32")

    def output(
        self, shape: Sequence[int], dtype: str | None = None, values: tuple[int, ...] | None = None
    ) -> Token:
        """A tensor in a buffer of its own."""
        token = Token(tuple(shape), dtype or self.dtype, values)
        if token.bytes:
            token.buffer = self.memory.allocate(
                self.node.name, self.node.op, token.bytes, token.shape, token.dtype
            )
        return token

    def alias(self, index: int, shape: Sequence[int] | None = None, dtype: str | None = None) -> Token:
        """The input itself, perhaps under another shape."""
        source = self.inputs[index]
        return Token(
            source.shape if shape is None else tuple(shape),
            dtype or source.dtype,
            source.values,
            source.buffer,
            resource=source.resource,
        )

    def forward(
        self,
        indices: Sequence[int],
        shape: Sequence[int],
        dtype: str | None = None,
        values: tuple[int, ...] | None = None,
    ) -> Token:
        """In place of the first of these inputs that has the size and that nobody else holds; else a buffer
        of its own.
        """
        wanted = Token(tuple(shape), dtype or self.dtype, values)
        for index in indices:
            source = self.inputs[index]
            if (
                source.dtype == wanted.dtype
                and math.prod(source.shape) == math.prod(wanted.shape)
                and self.is_last(source)
            ):
                wanted.buffer = source.buffer
                return wanted
        return self.output(shape, dtype, values)

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


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of an elementwise result."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(0 if 0 in sizes else max(sizes) for sizes in zip(*padded, strict=True))


def declared(call: KernelCall) -> Shape | None:
    """The shape that the graph states for the first output, None where it leaves a size open."""
    known: TensorType | None = call.node.outputs[0] if call.node.outputs else None
    return (
        None
        if known is None or known.shape is None or None in known.shape
        else tuple(size or 0 for size in known.shape)
    )


def vector(call: KernelCall, values: Sequence[int], shape: Sequence[int] | None = None) -> Token:
    """Whole numbers that are known, in a buffer of their own."""
    dtype = str(call.attribute("out_type") or call.attribute("T") or "int32")
    return call.output(
        (len(values),) if shape is None else shape, dtype if dtype in WHOLE else "int32", tuple(values)
    )


def variable_of(token: Token) -> Token:
    """The tensor of the variable that a handle names."""
    found: Token = token.resource.token
    return found


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
    found = token.buffer.elements if token.buffer is not None else None
    return [] if found is None else found
