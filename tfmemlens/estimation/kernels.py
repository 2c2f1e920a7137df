"""What each kernel of the CPU allocates, passes on or makes in place, and the shape of what it returns.

After the kernels of TensorFlow 1.15 to 2.21 (core/kernels/*.cc). A kernel is a function of a Call; ops without one behave like elementwise ops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfmemlens.costs.col_buffer import of_shapes
from tfmemlens.estimation.tokens import Buffer, Memory, Shape, Token
from tfmemlens.model.graph import Node
from tfmemlens.model.tensor import Constant, TensorType

_ALIGNED = 64


@dataclass(slots=True)
class Call:
    """One execution of a node: what came in, and the ways to make what goes out."""

    node: Node
    inputs: Sequence[Token]
    memory: Memory
    threads: int
    state: dict[str, Any]
    """What outlives the execution: variables, stacks, arrays, by the node that made them."""
    scratch: list[Buffer]

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute of the node."""
        found = self.node.attributes.get(name)
        return default if found is None else found

    @property
    def dtype(self) -> str:
        """The node's main type."""
        found = self.attribute("T") or self.attribute("dtype")
        return str(found) if isinstance(found, str) else (self.inputs[0].dtype if self.inputs else "float32")

    def output(self, shape: Sequence[int], dtype: str | None = None, values: tuple[int, ...] | None = None) -> Token:
        """A tensor in a buffer of its own."""
        token = Token(tuple(shape), dtype or self.dtype, values)
        if token.bytes:
            token.buffer = self.memory.allocate(self.node.name, self.node.op, token.bytes, token.shape, token.dtype)
        return token

    def alias(self, index: int, shape: Sequence[int] | None = None, dtype: str | None = None) -> Token:
        """The input itself, perhaps under another shape."""
        source = self.inputs[index]
        return Token(source.shape if shape is None else tuple(shape), dtype or source.dtype, source.values, source.buffer, resource=source.resource)

    def forward(self, indices: Sequence[int], shape: Sequence[int], dtype: str | None = None, values: tuple[int, ...] | None = None) -> Token:
        """In place of the first of these inputs that has the size and that nobody else holds; else a buffer of its own."""
        wanted = Token(tuple(shape), dtype or self.dtype, values)
        for index in indices:
            source = self.inputs[index]
            if source.dtype == wanted.dtype and math.prod(source.shape) == math.prod(wanted.shape) and self.is_last(source):
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


Kernel = Callable[[Call], list[Token]]
KERNELS: dict[str, Kernel] = {}


def kernel(*ops: str) -> Callable[[Kernel], Kernel]:
    """Registers a function for these ops."""

    def register(function: Kernel) -> Kernel:
        KERNELS.update(dict.fromkeys(ops, function))
        return function

    return register


def run(call: Call) -> list[Token]:
    """The outputs of a call; an op that is not known makes something like its first input, in place where it may."""
    found = KERNELS.get(call.node.op)
    if found is not None:
        return found(call)
    if call.node.op in ELEMENTWISE and call.inputs:
        return elementwise(call)
    declared = [each for each in call.node.outputs if each.shape is not None and None not in each.shape]
    if declared:
        return [call.output([size or 0 for size in each.shape or ()], each.dtype) for each in declared]
    return elementwise(call) if call.inputs else [call.output(())]


# --- elementwise ---------------------------------------------------------------------------------------------------------------------


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of an elementwise result."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(0 if 0 in sizes else max(sizes) for sizes in zip(*padded, strict=True))


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b, "AddV2": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b,
    "Maximum": max, "Minimum": min, "FloorDiv": lambda a, b: a // b if b else 0, "FloorMod": lambda a, b: a % b if b else 0,
    "Div": lambda a, b: a // b if b else 0, "RealDiv": lambda a, b: a // b if b else 0, "TruncateDiv": lambda a, b: a // b if b else 0,
    "Less": lambda a, b: int(a < b), "LessEqual": lambda a, b: int(a <= b), "Greater": lambda a, b: int(a > b), "GreaterEqual": lambda a, b: int(a >= b),
    "Equal": lambda a, b: int(a == b), "NotEqual": lambda a, b: int(a != b), "LogicalAnd": lambda a, b: int(bool(a and b)),
    "LogicalOr": lambda a, b: int(bool(a or b)),
}  # fmt: skip
ELEMENTWISE = frozenset(
    """Abs Acos Acosh Add AddV2 Asin Asinh Atan Atan2 Atanh BiasAddV1 Ceil Cos Cosh Digamma Div DivNoNan Elu EluGrad Equal Erf Erfc Exp Expm1 Floor FloorDiv FloorMod
    Greater GreaterEqual Inv InvGrad IsFinite IsInf IsNan LeakyReluGrad Less LessEqual Lgamma Log Log1p LogicalAnd LogicalNot LogicalOr Maximum Minimum Mod
    Mul MulNoNan Neg NotEqual Pow RealDiv Reciprocal ReciprocalGrad Relu6Grad ReluGrad Rint Round Rsqrt RsqrtGrad Selu SeluGrad Sigmoid SigmoidGrad Sign
    Sin Sinh Softplus SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square SquaredDifference Sub Tan Tanh TanhGrad TruncateDiv TruncateMod Xdivy
    Xlog1py Xlogy""".split()
)
_WHOLE = ("int32", "int64", "bool", "uint32", "uint64", "int16", "int8", "uint8")
_TESTS = ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual")


def _combined(call: Call) -> tuple[int, ...] | None:
    rule = _ARITHMETIC.get(call.node.op)
    if rule is None or len(call.inputs) != 2 or any(each.dtype not in _WHOLE for each in call.inputs):
        return None
    left, right = call.values(0), call.values(1)
    if left is None or right is None or not left or not right:
        return None
    size = max(len(left), len(right))
    if len(left) not in (1, size) or len(right) not in (1, size):
        return None
    left, right = left * (size // len(left)), right * (size // len(right))
    return tuple(rule(a, b) for a, b in zip(left, right, strict=True))


def elementwise(call: Call) -> list[Token]:
    """In place of an input of the result's type, if nobody else holds it (`forward_input_or_allocate_output`)."""
    shape = broadcast([each.shape for each in call.inputs[:2]] if len(call.inputs) <= 3 else [call.inputs[0].shape])
    dtype = "bool" if call.node.op in (*_TESTS, "LogicalAnd", "LogicalOr", "LogicalNot", "IsFinite", "IsNan", "IsInf") else call.dtype
    indices = [index for index, each in enumerate(call.inputs) if each.shape == shape]
    return [call.forward(indices, shape, dtype, _combined(call))]


@kernel("AddN", "AccumulateNV2")
def _sum_of_many(call: Call) -> list[Token]:
    if len(call.inputs) == 1:
        return [call.alias(0)]
    return [call.forward(range(len(call.inputs)), call.inputs[0].shape)]


@kernel("Cast")
def _cast(call: Call) -> list[Token]:
    target = str(call.attribute("DstT", "float32"))
    if target == call.inputs[0].dtype:
        return [call.alias(0)]
    return [call.output(call.inputs[0].shape, target, call.values(0) if target in _WHOLE else None)]


@kernel("Select")
def _select(call: Call) -> list[Token]:
    return [call.forward([1, 2], call.inputs[1].shape)]


@kernel("SelectV2")
def _select_broadcast(call: Call) -> list[Token]:
    shape = broadcast([each.shape for each in call.inputs])
    return [call.forward([index for index in (1, 2) if call.inputs[index].shape == shape], shape)]


@kernel("ZerosLike")
def _zeros_like(call: Call) -> list[Token]:
    source = call.inputs[0]
    if source.dtype == "variant":
        return [_list(call, [call.output(each.shape, each.dtype) for each in _elements(source)])]
    return [call.forward([0], source.shape)]


@kernel("BiasAdd", "Softmax", "LogSoftmax", "OnesLike", "ClipByValue", "LeakyRelu", "Relu", "Relu6", "LRN")
def _unary(call: Call) -> list[Token]:
    return [call.forward([0], call.inputs[0].shape)]


# --- passing on ----------------------------------------------------------------------------------------------------------------------


@kernel("Identity", "StopGradient", "PreventGradient", "Snapshot", "_Arg", "_Retval", "PlaceholderWithDefault", "EnsureShape", "CheckNumerics", "LoopCond")
@kernel("RefIdentity", "_DeviceArg", "_DeviceRetval", "OptionalFromValue", "DebugIdentity", "GuaranteeConst")
def _pass(call: Call) -> list[Token]:
    return [call.alias(0)] if call.inputs else [Token()]


@kernel("IdentityN", "_ParallelConcatStart", "TupleN")
def _pass_all(call: Call) -> list[Token]:
    return [call.alias(index) for index in range(len(call.inputs))]


@kernel("Reshape")
def _reshape(call: Call) -> list[Token]:
    wanted = call.values(1)
    count = math.prod(call.inputs[0].shape)
    if wanted is None:
        declared = _declared(call)
        shape = declared if declared is not None and math.prod(declared) == count else (count,)
    else:
        known = math.prod(size for size in wanted if size >= 0)
        shape = tuple(count // max(known, 1) if size < 0 else size for size in wanted)
    return [call.alias(0, shape)]


def _declared(call: Call) -> Shape | None:
    known: TensorType | None = call.node.outputs[0] if call.node.outputs else None
    return None if known is None or known.shape is None or None in known.shape else tuple(size or 0 for size in known.shape)


@kernel("ExpandDims")
def _expand(call: Call) -> list[Token]:
    axis = (call.values(1) or (0,))[0]
    shape = list(call.inputs[0].shape)
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return [call.alias(0, shape)]


@kernel("Squeeze")
def _squeeze(call: Call) -> list[Token]:
    axes = call.attribute("squeeze_dims") or ()
    shape = call.inputs[0].shape
    chosen = {axis % len(shape) for axis in axes} if axes else {index for index, size in enumerate(shape) if size == 1}
    return [call.alias(0, [size for index, size in enumerate(shape) if index not in chosen])]


@kernel("Transpose", "ConjugateTranspose")
def _transpose(call: Call) -> list[Token]:
    source, order = call.inputs[0].shape, call.values(1)
    if order is None or len(order) != len(source):
        order = tuple(reversed(range(len(source))))
    shape = [source[axis] for axis in order]
    moved = [axis for axis in order if source[axis] != 1]
    return [call.alias(0, shape) if moved == sorted(moved) else call.output(shape)]


# --- shapes and small numbers --------------------------------------------------------------------------------------------------------


@kernel("Const", "HostConst")
def _constant(call: Call) -> list[Token]:
    kept = call.state.get(call.node.name)
    if kept is None:
        value = call.attribute("value")
        shape = tuple(size or 0 for size in value.shape or ()) if isinstance(value, TensorType) else ()
        dtype = (value.dtype if isinstance(value, TensorType) else None) or "float32"
        kept = Token(shape, dtype, value.values if isinstance(value, Constant) else None)
        call.state[call.node.name] = kept
    return [kept]


@kernel("Shape")
def _shape(call: Call) -> list[Token]:
    return [_vector(call, call.inputs[0].shape)]


def _vector(call: Call, values: Sequence[int], shape: Sequence[int] | None = None) -> Token:
    dtype = str(call.attribute("out_type") or call.attribute("T") or "int32")
    return call.output((len(values),) if shape is None else shape, dtype if dtype in _WHOLE else "int32", tuple(values))


@kernel("ShapeN")
def _shapes(call: Call) -> list[Token]:
    return [_vector(call, each.shape) for each in call.inputs]


@kernel("Size")
def _size(call: Call) -> list[Token]:
    return [_vector(call, (math.prod(call.inputs[0].shape),), ())]


@kernel("Rank")
def _rank(call: Call) -> list[Token]:
    return [call.output((), "int32", (len(call.inputs[0].shape),))]


@kernel("Range")
def _range(call: Call) -> list[Token]:
    parts = [call.values(index) for index in range(3)]
    if any(part is None for part in parts):
        return [call.output(_declared(call) or (1,))]
    start, limit, delta = (part[0] if part else 0 for part in parts)
    found = tuple(range(start, limit, delta or 1))
    return [call.output((len(found),), call.inputs[0].dtype, found if len(found) <= 64 else None)]


@kernel("BroadcastGradientArgs")
def _broadcast_gradient(call: Call) -> list[Token]:
    left, right = call.values(0) or (), call.values(1) or ()
    rank = max(len(left), len(right))
    both = [(1,) * (rank - len(side)) + tuple(side) for side in (left, right)]
    result = []
    for mine, other in (both, both[::-1]):
        axes = tuple(index for index in range(rank) if mine[index] == 1 and (other[index] != 1 or mine[index] == other[index] == 1))
        same = left == right
        result.append(call.output((0 if same else len(axes),), "int32", () if same else axes))
    return result


@kernel("InvertPermutation")
def _invert(call: Call) -> list[Token]:
    order = call.values(0)
    inverse = tuple(sorted(range(len(order)), key=order.__getitem__)) if order is not None else None
    return [call.output(call.inputs[0].shape, call.inputs[0].dtype, inverse)]


@kernel("ConcatOffset")
def _concat_offset(call: Call) -> list[Token]:
    axis, at, result = (call.values(0) or (0,))[0], 0, []
    for each in call.inputs[1:]:
        shape = each.values or ()
        position = axis % len(shape) if shape else 0
        result.append(call.output((len(shape),), "int32", tuple(at if index == position else 0 for index in range(len(shape)))))
        at += shape[position] if shape else 0
    return result


@kernel("Pack")
def _pack(call: Call) -> list[Token]:
    axis, shape = int(call.attribute("axis", 0)), list(call.inputs[0].shape)
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, len(call.inputs))
    parts = [each.values for each in call.inputs]
    known = tuple(part[0] for part in parts if part) if len(shape) == 1 and all(parts) else None
    return [call.output(shape, call.inputs[0].dtype, known)]


@kernel("Unpack")
def _unpack(call: Call) -> list[Token]:
    source, count = call.inputs[0], int(call.attribute("num", 1))
    axis = int(call.attribute("axis", 0)) % max(len(source.shape), 1)
    shape = [size for index, size in enumerate(source.shape) if index != axis]
    shared = axis == 0 and Token(tuple(shape), source.dtype).bytes % _ALIGNED == 0
    values = source.values if len(source.shape) == 1 else None
    return [
        (call.alias(0, shape) if shared else call.output(shape, source.dtype, (values[index],) if values and index < len(values) else None))
        for index in range(count)
    ]


# --- joining and cutting -------------------------------------------------------------------------------------------------------------


@kernel("ConcatV2", "Concat")
def _concat(call: Call) -> list[Token]:
    last = call.node.op == "ConcatV2"
    axis_values = call.values(len(call.inputs) - 1) if last else call.values(0)
    parts = call.inputs[:-1] if last else call.inputs[1:]
    shape = list(parts[0].shape)
    if not shape:
        return [call.output((len(parts),), parts[0].dtype)]
    axis = (axis_values or (0,))[0] % len(shape)
    shape[axis] = sum(each.shape[axis] if axis < len(each.shape) else 0 for each in parts)
    values = [each.values for each in parts]
    known = tuple(number for each in values for number in each or ()) if len(shape) == 1 and all(each is not None for each in values) else None
    return [call.output(shape, parts[0].dtype, known)]


@kernel("Split", "SplitV")
def _split(call: Call) -> list[Token]:
    data = call.inputs[1] if call.node.op == "Split" else call.inputs[0]
    axis = ((call.values(0) if call.node.op == "Split" else call.values(2)) or (0,))[0] % max(len(data.shape), 1)
    count = int(call.attribute("num_split", 1))
    sizes = call.values(1) if call.node.op == "SplitV" else None
    if sizes is None or any(size < 0 for size in sizes):
        known = sum(size for size in sizes or () if size >= 0)
        sizes = (
            tuple(data.shape[axis] // count for _ in range(count))
            if sizes is None
            else tuple(size if size >= 0 else data.shape[axis] - known for size in sizes)
        )
    inner = Token(data.shape[1:], data.dtype).bytes
    shared = count == 1 or (axis == 0 and inner % _ALIGNED == 0)
    result = []
    for size in sizes:
        shape = [size if index == axis else each for index, each in enumerate(data.shape)]
        result.append(Token(tuple(shape), data.dtype, None, data.buffer) if shared else call.output(shape, data.dtype))
    return result


@kernel("Slice")
def _slice(call: Call) -> list[Token]:
    source, begin, size = call.inputs[0], call.values(1), call.values(2)
    if begin is None or size is None:
        return [call.output(_declared(call) or source.shape)]
    shape = [whole - first if wanted < 0 else wanted for whole, first, wanted in zip(source.shape, begin, size, strict=True)]
    if tuple(shape) == source.shape:
        return [call.alias(0)]
    if shape[1:] == list(source.shape[1:]) and begin[0] * Token(source.shape[1:], source.dtype).bytes % _ALIGNED == 0:
        return [Token(tuple(shape), source.dtype, None, source.buffer)]
    values = source.values[begin[0] : begin[0] + shape[0]] if source.values is not None and len(shape) == 1 else None
    return [call.output(shape, source.dtype, values)]


@kernel("StridedSlice")
def _strided_slice(call: Call) -> list[Token]:
    source = call.inputs[0]
    found = strided(source.shape, call.values(1), call.values(2), call.values(3), call.node)
    if found is None:
        return [call.output(_declared(call) or source.shape[1:])]
    shape, ranges = found
    whole = all((first, step, count) == (0, 1, size) for (first, step, count), size in zip(ranges, source.shape, strict=True))
    if whole:
        return [call.alias(0, shape)]
    rows_only = all((first, step, count) == (0, 1, size) for (first, step, count), size in zip(ranges[1:], source.shape[1:], strict=True))
    if rows_only and ranges[0][1] == 1 and len(source.shape) > 1 and ranges[0][0] * Token(source.shape[1:], source.dtype).bytes % _ALIGNED == 0:
        return [Token(shape, source.dtype, None, source.buffer)]
    values = None
    if source.values is not None and len(source.shape) == 1:
        first, step, count = ranges[0]
        values = tuple(source.values[first + step * index] for index in range(count))
    return [call.output(shape, source.dtype, values)]


def strided(
    shape: Shape, begin: Sequence[int] | None, end: Sequence[int] | None, strides: Sequence[int] | None, node: Node
) -> tuple[Shape, list[tuple[int, int, int]]] | None:
    """The shape of a strided slice and (first, step, count) of each dimension of its source; None when a bound is not known."""
    if begin is None or end is None:
        begin_mask = int(str(node.attributes.get("shrink_axis_mask") or 0))
        if begin is None and end is None and begin_mask == 1 and strides is not None and len(strides) == 1:
            return shape[1:], [(1, 1, 1), *((0, 1, size) for size in shape[1:])]
        return None
    masks = {name: int(str(node.attributes.get(name) or 0)) for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")}
    strides = strides if strides is not None else (1,) * len(begin)
    result: list[int] = []
    ranges: list[tuple[int, int, int]] = []
    given = len(begin) - bin(masks["new_axis_mask"]).count("1") - (1 if masks["ellipsis_mask"] else 0)
    for index in range(len(begin)):
        bit = 1 << index
        if masks["ellipsis_mask"] & bit:
            for _ in range(len(shape) - given):
                ranges.append((0, 1, shape[len(ranges)]))
                result.append(ranges[-1][2])
            continue
        if masks["new_axis_mask"] & bit:
            result.append(1)
            continue
        if len(ranges) >= len(shape):
            return None
        size, step = shape[len(ranges)], strides[index] or 1
        if masks["shrink_axis_mask"] & bit:
            first = begin[index] + (size if begin[index] < 0 else 0)
            ranges.append((first, 1, 1))
            continue
        chosen = range(*slice(None if masks["begin_mask"] & bit else begin[index], None if masks["end_mask"] & bit else end[index], step).indices(size))
        ranges.append((chosen.start, step, len(chosen)))
        result.append(len(chosen))
    while len(ranges) < len(shape):
        ranges.append((0, 1, shape[len(ranges)]))
        result.append(ranges[-1][2])
    return tuple(result), ranges


@kernel("StridedSliceGrad")
def _strided_slice_gradient(call: Call) -> list[Token]:
    return [call.output(call.values(0) or _declared(call) or call.inputs[-1].shape)]


@kernel("Pad", "PadV2", "MirrorPad")
def _pad(call: Call) -> list[Token]:
    edges = call.values(1) or (0,) * (2 * len(call.inputs[0].shape))
    return [call.output([size + edges[2 * index] + edges[2 * index + 1] for index, size in enumerate(call.inputs[0].shape)])]


@kernel("Tile")
def _tile(call: Call) -> list[Token]:
    times = call.values(1)
    if times is None:
        return [call.output(_declared(call) or call.inputs[0].shape)]
    shape = [size * count for size, count in zip(call.inputs[0].shape, times, strict=True)]
    return [call.alias(0) if tuple(shape) == call.inputs[0].shape else call.output(shape)]


@kernel("BroadcastTo")
def _broadcast_to(call: Call) -> list[Token]:
    shape = call.values(1) or _declared(call) or call.inputs[0].shape
    return [call.alias(0) if tuple(shape) == call.inputs[0].shape else call.output(shape)]


@kernel("Fill", "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "StatelessRandomUniform", "StatelessRandomNormal", "Empty")
@kernel("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2", "StatelessTruncatedNormal", "StatelessRandomUniformIntV2")
def _filled(call: Call) -> list[Token]:
    dtype = call.inputs[1].dtype if call.node.op == "Fill" else str(call.attribute("dtype", "float32"))
    shape = call.values(0)
    values = None
    if call.node.op == "Fill" and shape is not None and (one := call.values(1)) and math.prod(shape) <= 64:
        values = one * math.prod(shape)
    return [call.output(shape if shape is not None else _declared(call) or (), dtype, values)]


@kernel("GatherV2", "Gather", "ResourceGather")
def _gather(call: Call) -> list[Token]:
    source = variable_of(call.inputs[0]) if call.inputs[0].resource is not None else call.inputs[0]
    axis = (call.values(2) or (0,))[0] % max(len(source.shape), 1)
    indices = call.inputs[1]
    values = None
    if source.values is not None and indices.values is not None and len(source.shape) == 1:
        values = tuple(source.values[index] for index in indices.values if -len(source.values) <= index < len(source.values))
    return [call.output((*source.shape[:axis], *indices.shape, *source.shape[axis + 1 :]), source.dtype, values)]


@kernel("GatherNd")
def _gather_nd(call: Call) -> list[Token]:
    source, indices = call.inputs[0], call.inputs[1]
    return [call.output((*indices.shape[:-1], *source.shape[indices.shape[-1] :]), source.dtype)]


@kernel("UnsortedSegmentSum", "SegmentSum", "UnsortedSegmentMax")
def _segments(call: Call) -> list[Token]:
    count = (call.values(2) or (call.inputs[0].shape[0],))[0]
    return [call.output((count, *call.inputs[0].shape[len(call.inputs[1].shape) :]))]


@kernel("ScatterNd")
def _scatter_nd(call: Call) -> list[Token]:
    return [call.output(call.values(2) or _declared(call) or call.inputs[1].shape, call.inputs[1].dtype)]


@kernel("OneHot")
def _one_hot(call: Call) -> list[Token]:
    return [call.output((*call.inputs[0].shape, (call.values(1) or (1,))[0]), call.inputs[2].dtype)]


# --- sums ----------------------------------------------------------------------------------------------------------------------------


_WHOLES: dict[str, Callable[[Sequence[int]], int]] = {"Prod": math.prod, "Sum": sum, "Max": max, "Min": min}


@kernel("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm")
def _reduce(call: Call) -> list[Token]:
    source, axes = call.inputs[0], call.values(1)
    rank = len(source.shape)
    chosen = {axis % rank for axis in axes} if axes is not None and rank else set(range(rank))
    keep = bool(call.attribute("keep_dims", False))
    shape = [1 if index in chosen else size for index, size in enumerate(source.shape) if keep or index not in chosen]
    if all(source.shape[axis] == 1 for axis in chosen):
        return [call.alias(0, shape)]
    values = None
    if source.values is not None and rank == 1 and chosen:
        values = (_WHOLES.get(call.node.op, sum)(source.values or (0,)),)
    result = call.output(shape, source.dtype if call.node.op not in ("All", "Any") else "bool", values)
    runs = [at in chosen for at in range(rank) if source.shape[at] != 1]
    blocks = sum(1 for index, each in enumerate(runs) if index == 0 or runs[index - 1] != each)
    if blocks > 3:
        call.temporary(source.shape, source.dtype)
    return [result]


@kernel("ArgMax", "ArgMin")
def _arg_max(call: Call) -> list[Token]:
    axis = (call.values(1) or (0,))[0] % max(len(call.inputs[0].shape), 1)
    shape = [size for index, size in enumerate(call.inputs[0].shape) if index != axis]
    return [call.output(shape, str(call.attribute("output_type", "int64")))]


@kernel("BiasAddGrad")
def _bias_gradient(call: Call) -> list[Token]:
    shape = call.inputs[0].shape
    return [call.output((shape[1] if str(call.attribute("data_format", "")).startswith("NC") else shape[-1],))]


@kernel("L2Loss")
def _l2_loss(call: Call) -> list[Token]:
    return [call.output(())]


@kernel("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
def _cross_entropy(call: Call) -> list[Token]:
    logits = call.inputs[0].shape
    call.temporary(logits[:1] if call.node.op.startswith("Sparse") else (logits[0], 1))
    return [call.output(logits[:1]), call.forward([0], logits)]


# --- matrices and convolutions -------------------------------------------------------------------------------------------------------


@kernel("MatMul", "_FusedMatMul", "_MklMatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _matmul(call: Call) -> list[Token]:
    left, right = call.inputs[0].shape, call.inputs[1].shape
    turned_left = bool(call.attribute("transpose_a") or call.attribute("adj_x"))
    turned_right = bool(call.attribute("transpose_b") or call.attribute("adj_y"))
    if len(left) < 2 or len(right) < 2:
        return [call.output(_declared(call) or left)]
    rows, columns = left[-1 if turned_left else -2], right[-2 if turned_right else -1]
    return [call.output((*broadcast([left[:-2], right[:-2]]), rows, columns))]


def spatial(
    sizes: Sequence[int], kernel_sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: str, edges: Sequence[int]
) -> list[int]:
    """Output sizes of a window that moves over an image."""
    result = []
    for index, (size, side, stride, dilation) in enumerate(zip(sizes, kernel_sizes, strides, dilations, strict=True)):
        extent = (side - 1) * dilation + 1
        if padding == "SAME":
            result.append(-(-size // stride))
        elif padding == "EXPLICIT":
            result.append((size + edges[2 * index] + edges[2 * index + 1] - extent) // stride + 1)
        else:
            result.append((size - extent) // stride + 1)
    return result


def _window(call: Call, shape: Shape, kernel_sizes: Sequence[int] | None, channels: int | None) -> Shape:
    """The shape after a convolution or pooling, whatever the layout."""
    first = str(call.attribute("data_format", "NHWC")).startswith("NC")
    place = slice(2, None) if first else slice(1, -1)
    rank = len(shape)
    strides = tuple(call.attribute("strides") or (1,) * rank)[place]
    dilations = tuple(call.attribute("dilations") or (1,) * rank)[place]
    edges = tuple(call.attribute("explicit_paddings") or (0,) * (2 * rank))
    edges = edges[4:] if first else edges[2:-2]
    sides = kernel_sizes if kernel_sizes is not None else tuple(call.attribute("ksize"))[place]
    sizes = spatial(shape[place], sides, strides, dilations, str(call.attribute("padding", "VALID")), edges)
    width = channels if channels is not None else shape[1 if first else -1]
    return (shape[0], width, *sizes) if first else (shape[0], *sizes, width)


@kernel("Conv2D", "_FusedConv2D", "Conv3D", "_FusedConv3D")
def _convolution(call: Call) -> list[Token]:
    sides = call.inputs[1].shape
    return [call.output(_window(call, call.inputs[0].shape, sides[:-2], sides[-1]))]


@kernel("DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative")
def _depthwise(call: Call) -> list[Token]:
    sides = call.inputs[1].shape
    return [call.output(_window(call, call.inputs[0].shape, sides[:2], sides[2] * sides[3]))]


@kernel("Conv2DBackpropInput")
def _input_gradient(call: Call) -> list[Token]:
    result = call.output(call.values(0) or _declared(call) or ())
    cost = of_shapes(call.inputs[1].shape, call.inputs[2].shape, str(call.attribute("data_format", "NHWC")))
    size = cost.input_gradient_bytes(result.shape[0] if result.shape else 1, call.threads)
    call.temporary((size // max(cost.image_bytes, 1), cost.positions, cost.patch), size_bytes=size)
    return [result]


@kernel("Conv2DBackpropFilter")
def _filter_gradient(call: Call) -> list[Token]:
    result = call.output(call.values(1) or _declared(call) or ())
    cost = of_shapes(result.shape, call.inputs[2].shape, str(call.attribute("data_format", "NHWC")))
    call.temporary((cost.images, cost.positions, cost.patch), size_bytes=cost.filter_gradient_bytes())
    return [result]


@kernel("Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput")
def _other_input_gradient(call: Call) -> list[Token]:
    return [call.output(call.values(0) or _declared(call) or ())]


@kernel("Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter")
def _other_filter_gradient(call: Call) -> list[Token]:
    result = call.output(call.values(1) or _declared(call) or ())
    if call.node.op.startswith("Depthwise") and len(result.shape) == 4:
        call.temporary((call.inputs[2].shape[0], result.shape[0] * result.shape[1], result.shape[2] * result.shape[3]))
    return [result]


@kernel("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D")
def _pool(call: Call) -> list[Token]:
    return [call.output(_window(call, call.inputs[0].shape, None, None))]


@kernel("MaxPoolGrad")
def _max_pool_gradient(call: Call) -> list[Token]:
    pooled = call.inputs[1]
    if not call.is_last(pooled):
        call.temporary(pooled.shape, pooled.dtype)
    call.temporary(pooled.shape, "int64")
    return [call.output(call.inputs[0].shape)]


@kernel("AvgPoolGrad", "AvgPool3DGrad")
def _average_pool_gradient(call: Call) -> list[Token]:
    return [call.output(call.values(0) or _declared(call) or ())]


@kernel("MaxPool3DGrad")
def _max_pool_3d_gradient(call: Call) -> list[Token]:
    return [call.output(call.inputs[0].shape)]


@kernel("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx")
def _batch_norm(call: Call) -> list[Token]:
    shape, width = call.inputs[0].shape, call.inputs[1].shape
    made = [call.forward([0], shape), *(call.output(width, "float32") for _ in range(4))]
    return [*made, call.output((), "float32")] if call.node.op.endswith(("V3", "Ex")) else made


@kernel("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _batch_norm_gradient(call: Call) -> list[Token]:
    width = call.inputs[2].shape
    made = [call.output(call.inputs[0].shape), call.output(width, "float32"), call.output(width, "float32")]
    call.temporary(width)
    return [*made, call.output((), "float32"), call.output((), "float32")]


@kernel("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
def _resize(call: Call) -> list[Token]:
    shape, sizes = call.inputs[0].shape, call.values(1) or (1, 1)
    result = (shape[0], *sizes, shape[-1])
    dtype = call.inputs[0].dtype if call.node.op == "ResizeNearestNeighbor" else "float32"
    return [call.alias(0) if result == shape and dtype == call.inputs[0].dtype else call.output(result, dtype)]


@kernel("ResizeBilinearGrad", "ResizeBicubicGrad")
def _resize_gradient(call: Call) -> list[Token]:
    return [call.output(call.inputs[1].shape)]


@kernel("ResizeNearestNeighborGrad")
def _nearest_gradient(call: Call) -> list[Token]:
    shape, sizes = call.inputs[0].shape, call.values(1) or (1, 1)
    return [call.output((shape[0], *sizes, shape[-1]))]


@kernel("ExtractImagePatches")
def _patches(call: Call) -> list[Token]:
    sides = call.attribute("ksizes")
    shape = call.inputs[0].shape
    sizes = spatial(shape[1:3], sides[1:3], call.attribute("strides")[1:3], call.attribute("rates")[1:3], str(call.attribute("padding")), ())
    return [call.output((shape[0], *sizes, sides[1] * sides[2] * shape[3]))]


@kernel("SpaceToDepth", "DepthToSpace")
def _space_to_depth(call: Call) -> list[Token]:
    block = int(call.attribute("block_size", 2))
    batch, height, width, depth = call.inputs[0].shape
    if call.node.op == "DepthToSpace":
        return [call.output((batch, height * block, width * block, depth // block**2))]
    return [call.output((batch, height // block, width // block, depth * block**2))]


# --- variables -----------------------------------------------------------------------------------------------------------------------


def variable_of(token: Token) -> Token:
    """The tensor of the variable that a handle names."""
    found: Token = token.resource.token
    return found


@kernel("ReadVariableOp")
def _read(call: Call) -> list[Token]:
    return [variable_of(call.inputs[0])]


@kernel("VariableShape")
def _variable_shape(call: Call) -> list[Token]:
    return [_vector(call, variable_of(call.inputs[0]).shape)]


@kernel("Assign", "AssignAdd", "AssignSub")
def _assign(call: Call) -> list[Token]:
    return [call.alias(0)]


@kernel("NoOp", "ControlTrigger", "Assert", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "PrintV2", "Abort", "ScatterUpdate")
@kernel("ResourceScatterAdd", "ResourceScatterUpdate", "_Send", "_HostSend", "StackCloseV2", "TensorArrayCloseV3", "DestroyResourceOp")
def _nothing(call: Call) -> list[Token]:
    return [call.alias(0)] if call.node.op == "ScatterUpdate" else []


# --- loops: stacks and arrays --------------------------------------------------------------------------------------------------------


def _handle(thing: Any) -> Token:
    return Token((2,), "resource", None, None, resource=thing)


@kernel("StackV2")
def _stack(call: Call) -> list[Token]:
    del call
    return [_handle([])]


@kernel("StackPushV2")
def _push(call: Call) -> list[Token]:
    call.inputs[0].resource.append(call.inputs[1])
    call.memory.hold(call.inputs[1].buffer)
    return [call.alias(1)]


@kernel("StackPopV2")
def _pop(call: Call) -> list[Token]:
    stack = call.inputs[0].resource
    if not stack:
        return [Token()]
    token: Token = stack.pop()
    call.state.setdefault("released", []).append(token.buffer)
    return [token]


@kernel("TensorArrayV3")
def _array(call: Call) -> list[Token]:
    return [_handle({}), call.output((), "float32")]


@kernel("TensorArrayGradV3")
def _array_gradient(call: Call) -> list[Token]:
    key = ("gradient", id(call.inputs[0].resource), call.attribute("source"))
    made = call.state.setdefault("arrays", {}).setdefault(key, {})
    call.state.setdefault("keep", []).append(call.inputs[0].resource)
    return [_handle(made), call.output((), "float32")]


@kernel("TensorArrayWriteV3")
def _array_write(call: Call) -> list[Token]:
    index = (call.values(1) or (len(call.inputs[0].resource),))[0]
    array = call.inputs[0].resource
    if index in array:
        total = call.output(call.inputs[2].shape, call.inputs[2].dtype)
        call.memory.hold(total.buffer)
        call.memory.release(array[index].buffer)
        array[index] = total
    else:
        array[index] = call.inputs[2]
        call.memory.hold(call.inputs[2].buffer)
    return [call.alias(3)]


@kernel("TensorArrayReadV3")
def _array_read(call: Call) -> list[Token]:
    array, index = call.inputs[0].resource, (call.values(1) or (0,))[0]
    found = array.get(index) or (next(iter(array.values())) if array else Token())
    return [Token(found.shape, found.dtype, None, found.buffer)]


@kernel("TensorArrayGatherV3")
def _array_gather(call: Call) -> list[Token]:
    array, count = call.inputs[0].resource, math.prod(call.inputs[1].shape)
    first = next(iter(array.values())) if array else Token()
    return [call.output((count, *first.shape), first.dtype)]


@kernel("TensorArrayScatterV3")
def _array_scatter(call: Call) -> list[Token]:
    value = call.inputs[2]
    for index in range(value.shape[0] if value.shape else 0):
        part = call.output(value.shape[1:], value.dtype)
        call.memory.hold(part.buffer)
        call.inputs[0].resource[index] = part
    return [call.alias(3)]


@kernel("TensorArraySizeV3")
def _array_size(call: Call) -> list[Token]:
    return [call.output((), "int32", (len(call.inputs[0].resource),))]


# --- lists of TensorFlow 2's loops ---------------------------------------------------------------------------------------------------

_HANDLE_BYTES = 64


def _list(call: Call, elements: Sequence[Token]) -> Token:
    """A handle that holds these tensors."""
    token = Token((), "variant")
    token.buffer = call.memory.allocate(call.node.name, call.node.op, _HANDLE_BYTES, (), "variant")
    token.buffer.elements = list(elements)
    for each in elements:
        call.memory.hold(each.buffer)
    return token


def _elements(token: Token) -> list[Token]:
    found = token.buffer.elements if token.buffer is not None else None
    return [] if found is None else found


def _own_list(call: Call) -> Token:
    """The list itself when nobody else holds it, else a copy of the handle."""
    return call.alias(0) if call.is_last(call.inputs[0]) else _list(call, _elements(call.inputs[0]))


@kernel("EmptyTensorList")
def _empty_list(call: Call) -> list[Token]:
    return [_list(call, ())]


@kernel("TensorListReserve")
def _reserve(call: Call) -> list[Token]:
    return [_list(call, [Token((0,), str(call.attribute("element_dtype", "float32")))] * (call.values(1) or (0,))[0])]


@kernel("TensorListPushBack")
def _push_back(call: Call) -> list[Token]:
    made = _own_list(call)
    _elements(made).append(call.inputs[1])
    call.memory.hold(call.inputs[1].buffer)
    return [made]


@kernel("TensorListPopBack")
def _pop_back(call: Call) -> list[Token]:
    made = _own_list(call)
    found = _elements(made)
    token = found.pop() if found else Token()
    call.state.setdefault("released", []).append(token.buffer)
    return [made, token]


@kernel("TensorListSetItem")
def _set_item(call: Call) -> list[Token]:
    made = _own_list(call)
    index, found = (call.values(1) or (0,))[0], _elements(made)
    if index < len(found):
        call.memory.hold(call.inputs[2].buffer)
        call.state.setdefault("released", []).append(found[index].buffer)
        found[index] = call.inputs[2]
    return [made]


@kernel("TensorListGetItem")
def _get_item(call: Call) -> list[Token]:
    index, found = (call.values(1) or (0,))[0], _elements(call.inputs[0])
    token = found[index] if index < len(found) else Token()
    if token.shape == (0,):  # never written: zeros
        return [call.output(tuple(size for size in call.values(2) or () if size >= 0), token.dtype)]
    return [Token(token.shape, token.dtype, None, token.buffer)]


@kernel("TensorListStack", "TensorListConcatV2")
def _stack_list(call: Call) -> list[Token]:
    found = _elements(call.inputs[0])
    first = next((token for token in found if token.shape != (0,)), Token((), str(call.attribute("element_dtype", "float32"))))
    return [call.output((len(found), *first.shape), first.dtype)]


@kernel("TensorListFromTensor")
def _from_tensor(call: Call) -> list[Token]:
    """Every element is a copy of its own."""
    source = call.inputs[0]
    return [_list(call, [call.output(source.shape[1:], source.dtype) for _ in range(source.shape[0] if source.shape else 0)])]


@kernel("TensorListElementShape")
def _element_shape(call: Call) -> list[Token]:
    found = _elements(call.inputs[0])
    return [_vector(call, found[0].shape if found else ())]


@kernel("TensorListLength")
def _list_length(call: Call) -> list[Token]:
    return [call.output((), "int32", (len(_elements(call.inputs[0])),))]


# --- the rest ------------------------------------------------------------------------------------------------------------------------


@kernel("Unique", "UniqueV2")
def _unique(call: Call) -> list[Token]:
    """At worst all are different."""
    shape = call.inputs[0].shape
    return [call.output(shape, call.inputs[0].dtype), call.output(shape, "int32")]


@kernel("TopKV2", "TopK")
def _top_k(call: Call) -> list[Token]:
    shape = (*call.inputs[0].shape[:-1], (call.values(1) or (int(call.attribute("k", 1)),))[0])
    return [call.output(shape, call.inputs[0].dtype), call.output(shape, "int32")]


@kernel("StatelessRandomGetKeyCounter")
def _key_counter(call: Call) -> list[Token]:
    return [call.output((1,), "uint64"), call.output((2,), "uint64")]


@kernel("Einsum")
def _einsum(call: Call) -> list[Token]:
    """Operands are brought to [batch, free, summed] in copies where they stand otherwise, the product to its order in another."""
    equation = str(call.attribute("equation", "")).replace(" ", "")
    left, _, result = equation.partition("->")
    terms = [_labels(term, token) for term, token in zip(left.split(","), call.inputs, strict=False)]
    sizes = {label: size for term, token in zip(terms, call.inputs, strict=False) for label, size in zip(term, token.shape, strict=False)}
    wanted = _labels(result, None, terms)
    product: list[str] = []
    if len(terms) == 2:
        shared = [label for label in terms[0] if label in terms[1]]
        batch = [label for label in shared if label in wanted]
        for index, term in enumerate(terms):
            free = [label for label in term if label not in shared]
            summed = [label for label in term if label in shared and label not in batch]
            if term not in ([*batch, *free, *summed], [*batch, *summed, *free]):
                call.temporary(call.inputs[index].shape, call.inputs[index].dtype)
            product += ([*batch] if index == 0 else []) + free
    shape = [sizes.get(label, 1) for label in wanted]
    if product and product != wanted:
        call.temporary(shape, call.inputs[0].dtype)
    return [call.output(shape, call.inputs[0].dtype)]


def _labels(term: str, token: Token | None, terms: Sequence[Sequence[str]] = ()) -> list[str]:
    """The labels of a term; those of an ellipsis are `0`, `1`, …"""
    before, dots, after = term.partition("...")
    if not dots:
        return list(term)
    if token is None:
        hidden = max((sum(label.isdigit() for label in each) for each in terms), default=0)
    else:
        hidden = len(token.shape) - len(before) - len(after)
    return [*before, *(str(index) for index in range(hidden)), *after]


@kernel("SpaceToBatchND", "BatchToSpaceND")
def _space_to_batch(call: Call) -> list[Token]:
    shape, block, edges = call.inputs[0].shape, call.values(1) or (), call.values(2) or ()
    rank, result = len(block), list(call.inputs[0].shape)
    forward = call.node.op.startswith("Space")
    result[0] = shape[0] * math.prod(block) if forward else shape[0] // max(math.prod(block), 1)
    for index in range(rank):
        before, after = (edges[2 * index], edges[2 * index + 1]) if len(edges) >= 2 * rank else (0, 0)
        size = shape[index + 1]
        result[index + 1] = (size + before + after) // block[index] if forward else size * block[index] - before - after
    return [call.output(result)]


@kernel("Cumsum", "Cumprod", "ReverseV2", "Reverse", "ReverseSequence", "Roll", "RandomShuffle", "LRNGrad", "TensorScatterUpdate", "TensorScatterAdd")
def _same_shape(call: Call) -> list[Token]:
    return [call.output(call.inputs[0].shape, call.inputs[0].dtype)]
