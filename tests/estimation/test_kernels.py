"""What each kernel of a graph's step books: one call, what comes out of it, and in whose memory it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tfmemlens.errors import MalformedNode
from tfmemlens.estimation.graph_step import kernels
from tfmemlens.estimation.graph_step.kernels import KernelCall
from tfmemlens.estimation.graph_step.kernels._call import list_of
from tfmemlens.estimation.graph_step.tokens import Memory, Token, TokenBuffer, Variable
from tfmemlens.knowledge.bfc import Pool
from tfmemlens.model.allocation import PERSISTENT, TEMPORARY
from tfmemlens.model.graph import Node
from tfmemlens.model.tensor import Constant, TensorType
from tfmemlens.units import MIB

Dims = tuple[int, ...]


class Bench:
    """One memory in which calls run one after another."""

    def __init__(self, onednn: bool = False, l3_bytes: int | None = None) -> None:
        self.memory = Memory(Pool(), onednn=onednn, l3_bytes=l3_bytes)
        self.state: dict[str, Any] = {}
        self.inputs: tuple[Token, ...] = ()
        self.scratch: list[int] = []

    def tensor(
        self, *shape: int, dtype: str = "float32", values: Dims | None = None, holders: int = 1
    ) -> Token:
        """A tensor in a buffer of its own, which so many hold."""
        token = Token(shape, dtype, values)
        if token.bytes:
            token.buffer = self.memory.allocate("before", "Op", token.bytes, shape, dtype)
            token.buffer.holders = holders
        return token

    def run(
        self,
        op: str,
        *inputs: Token,
        threads: int = 2,
        outputs: tuple[TensorType, ...] = (),
        **attributes: object,
    ) -> list[Token]:
        """What a node of this op makes of these inputs."""
        before, scratch = len(self.memory.rows), list[TokenBuffer]()
        self.inputs = inputs
        node = Node("it", op, attributes=attributes, outputs=outputs)
        made = kernels.run(KernelCall(node, inputs, self.memory, threads, self.state, scratch))
        booked = self.memory.rows[before:]
        self.scratch = [row.requested_bytes or 0 for row in booked if row.purpose == TEMPORARY]
        assert len(self.scratch) == len(scratch)
        return made

    def said(self, made: Sequence[Token]) -> list[str]:
        """Each output in words: where it lies, its type, its values."""
        words = []
        for token in made:
            places = [
                at for at, each in enumerate(self.inputs) if each.buffer and each.buffer is token.buffer
            ]
            where = f"in {places[0]}" if places else "new"
            if token.buffer is None:
                where = "nowhere"
            size = "x".join(map(str, token.shape)) or "one"
            values = "" if token.values is None else f" {list(token.values)}"
            words.append(f"{where}: {token.dtype} {size}{values}")
        return words


def number(*values: int, dtype: str = "int32") -> Token:
    """A vector that is known, and that no buffer holds."""
    return Token((len(values),), dtype, values)


def one(value: int) -> Token:
    """A known scalar."""
    return Token((), "int32", (value,))


def case(op: str, inputs: Sequence[Any], made: list[str], scratch: Sequence[int] = (), **more: Any) -> Any:
    """A row of the table below."""
    return pytest.param(op, inputs, made, list(scratch), more, id=f"{op}-{inputs}"[:70])


def t(*shape: int, dtype: str = "float32", holders: int = 1) -> tuple[Dims, str, int]:
    """An input in a buffer of its own."""
    return shape, dtype, holders


CASES = [
    # numbers
    case("Transpose", [Token((2, 4), "int32", (1, 1, 16, 1, 8, 512, 1, 64)), Token((2,), "int32", (1, 0))],
         ["new: int32 4x2 [1, 8, 1, 512, 16, 1, 1, 64]"], T="int32"),
    case("Transpose", [Token((2, 4), "int32"), Token((2,), "int32", (1, 0))], ["new: int32 4x2"], T="int32"),
    case("Transpose", [Token((2, 2), "int32", (1, 2, 3)), Token((2,), "int32", (1, 0))], ["new: int32 2x2"],
         T="int32"),
    case("Range", [one(0), one(5), one(2)], ["new: int32 3 [0, 2, 4]"], Tidx="int32"),
    case("Range", [Token((), "int32")] * 3, ["new: int32 1"], Tidx="int32"),
    case("Unpack", [t(2, 16)], ["in 0: float32 16"] * 2, num=2, T="float32"),
    case("Unpack", [t(2, 15)], ["new: float32 15"] * 2, num=2, T="float32"),
    case("Unpack", [t(32, 2)], ["new: float32 32"] * 2, num=2, axis=1, T="float32"),
    case("Unpack", [t(16, 2)], ["new: float32 2"] * 16, num=16, axis=-2, T="float32"),
    case("Unpack", [t(2, 32)], ["in 0: float32 32"] * 2, num=2, axis=-2, T="float32"),
    case("DynamicStitch", [Token((3,), "int32"), Token((2,), "int32"), t(3, 8), t(2, 8)],
         ["new: float32 5x8"], N=2, T="float32"),
    case("DynamicStitch", [Token((2, 2), "int32"), t(2, 2, 8)], ["new: float32 4x8"], N=1, T="float32"),
    # sharing parts of a tensor: as TensorFlow 2.21 was seen to do
    case("Split", [one(0), t(8, 16)], ["in 1: float32 2x16"] * 4, num_split=4, T="float32"),
    case("Split", [one(0), t(8, 15)], ["new: float32 2x15"] * 4, num_split=4, T="float32"),
    case("Split", [one(0), t(8, 15)], ["in 1: float32 8x15"], num_split=1, T="float32"),
    case("Split", [one(1), t(8, 16)], ["new: float32 8x8"] * 2, num_split=2, T="float32"),
    case("Split", [one(-2), t(8, 16)], ["in 1: float32 4x16"] * 2, num_split=2, T="float32"),
    case("Split", [Token((), "int32"), t(8, 16)], ["in 1: float32 2x16"] * 4, num_split=4, T="float32"),
    case("Split", [one(0), t(64)], ["new: float32 32"] * 2, num_split=2, T="float32"),
    case("SplitV", [t(8, 16), number(3, 5), one(0)], ["in 0: float32 3x16", "in 0: float32 5x16"],
         num_split=2, T="float32"),
    case("SplitV", [t(8, 16), number(3, 13), one(1)], ["new: float32 8x3", "new: float32 8x13"],
         num_split=2, T="float32"),
    case("Slice", [t(8, 16), number(0, 0), number(-1, -1)], ["in 0: float32 8x16"], T="float32"),
    case("Slice", [t(8, 16), number(3, 0), number(2, 16)], ["in 0: float32 2x16"], T="float32"),
    case("Slice", [t(8, 15), number(0, 0), number(2, 15)], ["new: float32 2x15"], T="float32"),
    case("Slice", [t(32, 15), number(16, 0), number(4, 15)], ["new: float32 4x15"], T="float32"),
    case("Slice", [t(8, 16), number(3, 0), number(2, 8)], ["new: float32 2x8"], T="float32"),
    case("Slice", [t(64), number(16), number(16)], ["in 0: float32 16"], T="float32"),
    case("Slice", [t(64), number(0), number(3)], ["new: float32 3"], T="float32"),
    case("Slice", [t(64), number(1), number(16)], ["new: float32 16"], T="float32"),
    case("Slice", [t(64), number(1), number(15)], ["new: float32 15"], T="float32"),
    case("Slice", [t(8, 16), Token((2,), "int32"), number(2, 16)], ["new: float32 2x16"], T="float32"),
    case("Slice", [t(8, 16), number(0, 0), Token((2,), "int32")], ["new: float32 8x16"], T="float32"),
    case("StridedSlice", [t(8, 16), number(0, 0), number(8, 16), number(1, 1)], ["in 0: float32 8x16"],
         T="float32"),
    case("StridedSlice", [t(8, 16), number(3), number(5), number(1)], ["in 0: float32 2x16"], T="float32"),
    case("StridedSlice", [t(8, 16), number(3), number(4), number(1)], ["in 0: float32 16"], T="float32",
         shrink_axis_mask=1),
    case("StridedSlice", [t(8, 15), number(0), number(2), number(1)], ["new: float32 2x15"], T="float32"),
    case("StridedSlice", [t(8, 16), number(0), number(8), number(2)], ["new: float32 4x16"], T="float32"),
    case("StridedSlice", [t(8, 16), number(0, 1), number(8, 16), number(1, 1)], ["new: float32 8x15"],
         T="float32"),
    case("StridedSlice", [t(64), number(16), number(32), number(1)], ["in 0: float32 16"], T="float32"),
    case("StridedSlice", [t(64), number(16), number(19), number(1)], ["new: float32 3"], T="float32"),
    case("StridedSlice", [t(8, 16), Token((1,), "int32"), Token((1,), "int32"), number(1)],
         ["new: float32 16"], T="float32", shrink_axis_mask=1),
    case("StridedSliceGrad", [Token((2,), "int32"), *[number(0)] * 3, t(3, 16)], ["new: float32 3x16"],
         T="float32"),
    # enlarging, picking
    case("Tile", [t(2, 3), number(4, 1)], ["new: float32 8x3"], T="float32"),
    case("Tile", [t(2, 3), number(1, 1)], ["in 0: float32 2x3"], T="float32"),
    case("BroadcastTo", [t(1, 3), number(5, 3)], ["new: float32 5x3"], T="float32"),
    case("BroadcastTo", [t(5, 3), number(5, 3)], ["in 0: float32 5x3"], T="float32"),
    case("ResizeBilinear", [t(1, 4, 4, 2), number(8, 8)], ["new: float32 1x8x8x2"], T="float32"),
    case("ResizeBilinear", [t(1, 4, 4, 2, dtype="uint8"), number(4, 4)], ["new: float32 1x4x4x2"], T="uint8"),
    case("UnsortedSegmentSum", [t(6, 4), t(6, dtype="int32"), one(3)], ["new: float32 3x4"], T="float32"),
    case("UnsortedSegmentSum", [t(6, 5, 4), t(6, 5, dtype="int32"), Token((), "int32")],
         ["new: float32 6x4"], T="float32"),
    # what the graph states where a rule or a number is lacking
    case("Reshape", [t(4, 6), Token((2,), "int32")], ["in 0: float32 8x3"], T="float32",
         outputs=(TensorType((None, 3), None),)),
    case("Rare", [t(4, 6)], ["new: float32 4"], T="float32", outputs=(TensorType((None,), None),)),
    case("Rare", [t(4, 6)], ["in 0: float32 4x6"], T="float32", outputs=(TensorType((None, 6), None),)),
    case("Rare", [t(4, 6)], ["new: float32 4x6x6"], T="float32", outputs=(TensorType((None,) * 3, None),)),
    case("Rare", [t(4, 6)], ["new: float32 7", "new: float32 4x1", "new: float32 7"], T="float32",
         outputs=(TensorType((7,), None), TensorType((None, 1), None), TensorType((7,), None))),
    case("Rare", [t(4, 6)], ["in 0: float32 4x6"], T="float32", outputs=(TensorType(None, None),)),
    case("RFFT", [t(4, 6), number(6)], ["new: complex64 4x4"], [4 * 6 * 8]),
    case("ScatterNd", [t(2, 1, dtype="int32"), t(2, 4), number(9, 4)], ["new: float32 9x4"], T="float32"),
    case("ScatterNd", [t(2, 1, dtype="int32"), t(2, 4), Token((2,), "int32")], ["new: float32 2x4"],
         T="float32"),
    case("Unique", [t(7, dtype="int32")], ["new: int32 7", "new: int32 7"], T="int32", out_idx="int32"),
    # passing on
    case("Identity", [t(8, 16)], ["in 0: float32 8x16"], T="float32"),
    case("Identity", [], ["nowhere: float32 one"], T="float32"),
    case("IdentityN", [t(8, 16), t(4, dtype="int32")], ["in 0: float32 8x16", "in 1: int32 4"]),
    case("_FunctionResults", [t(8), t(9), t(7)], ["in 0: float32 8", "in 1: float32 9"], results=2),
    case("_FunctionResults", [t(8)], []),
    case("PlaceholderWithDefault", [t(8)], ["in 0: float32 8"], dtype="float32"),
    case("Reshape", [t(2, 6), number(3, 4)], ["in 0: float32 3x4"], T="float32"),
    case("Reshape", [t(2, 6), number(3, -1)], ["in 0: float32 3x4"], T="float32"),
    case("Reshape", [t(2, 6), Token((2,), "int32")], ["in 0: float32 12"], T="float32"),
    case("Reshape", [t(2, 6), number(5, 5)], ["in 0: float32 12"], T="float32"),
    case("Transpose", [t(2, 3), number(1, 0)], ["new: float32 3x2"], T="float32"),
    case("Transpose", [t(1, 3), number(1, 0)], ["in 0: float32 3x1"], T="float32"),
    case("Transpose", [t(2, 1, 3), number(1, 0, 2)], ["in 0: float32 1x2x3"], T="float32"),
    case("Transpose", [t(2, 1, 3), number(2, 1, 0)], ["new: float32 3x1x2"], T="float32"),
    case("Transpose", [t(2, 3), Token((2,), "int32")], ["new: float32 3x2"], T="float32"),
    case("ConjugateTranspose", [t(5), number(0)], ["in 0: float32 5"], T="float32"),
    # by the table: in place only where nobody else holds it
    case("Relu", [t(8, 16)], ["in 0: float32 8x16"], T="float32"),
    case("Relu", [t(8, 16, holders=2)], ["new: float32 8x16"], T="float32"),
    case("Add", [t(16), t(8, 16)], ["in 1: float32 8x16"], T="float32"),
    case("Add", [t(8, 16, holders=2), t(16)], ["new: float32 8x16"], T="float32"),
    case("Less", [t(8), t(8)], ["new: bool 8"], T="float32"),
    case("Minimum", [one(7), Token((), "int32")], ["new: int32 one [7]"], T="int32"),
    case("Minimum", [Token((), "int32"), one(7)], ["new: int32 one [7]"], T="int32"),
    case("Minimum", [Token((), "int32"), Token((), "int32")], ["new: int32 one"], T="int32"),
    case("Minimum", [one(7), one(5)], ["new: int32 one [5]"], T="int32"),
    case("AddN", [t(8)], ["in 0: float32 8"], N=1, T="float32"),
    case("AddN", [t(8, holders=3)], ["in 0: float32 8"], N=1, T="float32"),
    case("AddN", [t(8, holders=3), t(8)], ["in 1: float32 8"], N=2, T="float32"),
    case("AddN", [t(8, holders=3), t(8, holders=2)], ["new: float32 8"], N=2, T="float32"),
    case("Cast", [t(8)], ["in 0: float32 8"], SrcT="float32", DstT="float32"),
    case("Cast", [t(8)], ["new: float16 8"], SrcT="float32", DstT="float16"),
    case("Select", [t(8, dtype="bool"), t(8), t(8)], ["in 1: float32 8"], T="float32"),
    case("Select", [t(8, dtype="bool"), t(8, holders=2), t(8)], ["in 2: float32 8"], T="float32"),
    case("Select", [t(8, dtype="bool"), t(8, dtype="bool", holders=2), t(8, dtype="bool", holders=2)],
         ["new: bool 8"], T="bool"),
    case("ZerosLike", [t(8)], ["in 0: float32 8"], T="float32"),
    case("ZerosLike", [t(8, holders=2)], ["new: float32 8"], T="float32"),
    # reductions: Eigen reduces at most three alternating runs at once
    case("Sum", [t(8, 4, 4, 3), number(1, 2)], ["new: float32 8x3"], T="float32"),
    case("Sum", [t(8, 4, 4, 3), number(-3, -2)], ["new: float32 8x3"], T="float32"),
    case("Sum", [t(8, 4, 4, 3), number(1, 3)], ["new: float32 8x4"], [1536], T="float32"),
    case("Mean", [t(8, 4, 4, 3), number(0, 2)], ["new: float32 4x3"], [1536], T="float32"),
    case("Sum", [t(8, 4, 1, 3), number(1, 3)], ["new: float32 8x1"], T="float32"),
    case("Sum", [t(8, 4, 1, 3), number(0, 2)], ["new: float32 4x3"], T="float32"),
    case("Sum", [t(8, 4, 4, 3), Token((2,), "int32")], ["new: float32 one"], T="float32"),
    case("Sum", [t(8, 4), Token((1,), "int32")], ["new: float32 1x1"], T="float32", keep_dims=True),
    case("Max", [t(8, 4), number(1)], ["new: float32 8x1"], T="float32", keep_dims=True),
    case("Sum", [t(8, 1), number(1)], ["in 0: float32 8"], T="float32"),
    case("Sum", [t(8, 1), number(1)], ["in 0: float32 8x1"], T="float32", keep_dims=True),
    case("Sum", [t(8, 4), Token((0,), "int32", ())], ["in 0: float32 8x4"], T="float32"),
    # losses
    case("SparseSoftmaxCrossEntropyWithLogits", [t(8, 10), t(8, dtype="int32")],
         ["new: float32 8", "in 0: float32 8x10"], [32], T="float32"),
    case("SparseSoftmaxCrossEntropyWithLogits", [t(8, 10, holders=2), t(8, dtype="int32")],
         ["new: float32 8", "new: float32 8x10"], [32], T="float32"),
    case("SoftmaxCrossEntropyWithLogits", [t(8, 10), t(8, 10)], ["new: float32 8", "in 0: float32 8x10"],
         [32], T="float32"),
    # scratch memory
    case("MaxPoolGrad", [t(1, 4, 4, 2), t(1, 2, 2, 2), t(1, 2, 2, 2)], ["in 0: float32 1x4x4x2"], [64],
         T="float32"),
    case("MaxPoolGrad", [t(1, 4, 4, 2, holders=2), t(1, 2, 2, 2, holders=2), t(1, 2, 2, 2)],
         ["new: float32 1x4x4x2"], [32, 64], T="float32"),
    case("FusedBatchNorm", [t(2, 4, 4, 3), *[t(3)] * 2, *[t(0)] * 2],
         ["in 0: float32 2x4x4x3", *["new: float32 3"] * 4], T="float32", is_training=True),
    case("FusedBatchNormV3", [t(2, 4, 4, 3, holders=2), *[t(3)] * 2, *[t(0)] * 2],
         ["new: float32 2x4x4x3", *["new: float32 3"] * 4, "new: float32 one"], T="float32", U="float32",
         is_training=True),
    case("FusedBatchNormGradV3", [*[t(2, 4, 4, 3)] * 2, t(3), *[t(4)] * 3],
         ["new: float32 2x4x4x3", "new: float32 3", "new: float32 3", "nowhere: float32 0",
          "nowhere: float32 0"], [12], T="float32", U="float32"),
    case("DepthwiseConv2dNativeBackpropFilter", [t(8, 32, 32, 16), number(3, 3, 16, 2), t(8, 30, 30, 32)],
         ["new: float32 3x3x16x2"], [8 * 9 * 32 * 4], T="float32"),
    case("Conv2DBackpropInput", [number(8, 32, 32, 16), t(3, 3, 16, 32), t(8, 32, 32, 32)],
         ["new: float32 8x32x32x16"], [589_824], T="float32"),
    case("Conv2DBackpropInput", [number(8, 32, 32, 16), t(3, 3, 16, 32), t(8, 32, 32, 32)],
         ["new: float32 8x32x32x16"], [43 * 589_824], T="float32", threads=3),
    case("Conv2DBackpropInput", [number(1, 32, 32, 16), t(3, 3, 16, 32), t(1, 32, 32, 32)],
         ["new: float32 1x32x32x16"], [589_824], T="float32", threads=3),
    case("Conv2DBackpropInput", [number(8, 16, 32, 32), t(3, 3, 16, 32), t(8, 32, 32, 32)],
         ["new: float32 8x16x32x32"], [43 * 589_824], T="float32", threads=3, data_format="NCHW"),
    case("Conv2DBackpropFilter", [t(8, 32, 32, 16), number(3, 3, 16, 32), t(8, 32, 32, 32)],
         ["new: float32 3x3x16x32"], [43 * 589_824], T="float32"),
    case("Conv2DBackpropFilter", [t(8, 32, 32, 16), number(3, 3, 16, 32), t(8, 32, 32, 32)],
         ["new: float32 3x3x16x32"], [], T="float32", onednn=True),
    case("Conv2DBackpropInput", [number(8, 32, 32, 16), t(3, 3, 16, 32), t(8, 32, 32, 32)],
         ["new: float32 8x32x32x16"], [], T="float32", onednn=True),
    # 384 MiB of L3 cache: as TensorFlow 1.15 was seen to ask for
    case("Conv3DBackpropFilterV2", [t(8, 12, 28, 28, 48), number(3, 1, 1, 48, 48), t(8, 12, 28, 28, 48)],
         ["new: float32 3x1x1x48x48"], [303_464_448], T="float32", l3_bytes=384 * MIB),
    case("Conv3DBackpropInputV2", [number(8, 12, 28, 28, 48), t(3, 1, 1, 48, 48), t(8, 12, 28, 28, 48)],
         ["new: float32 8x12x28x28x48"], [303_464_448], T="float32", l3_bytes=384 * MIB),
    case("Conv3DBackpropInputV2", [number(1, 12, 28, 28, 48), t(3, 1, 1, 48, 48), t(1, 12, 28, 28, 48)],
         ["new: float32 1x12x28x28x48"], [5_419_008], T="float32"),
    case("Conv3DBackpropFilterV2", [t(1, 8, 8, 8, 2), number(3, 3, 3, 2, 2), t(1, 8, 8, 8, 2)],
         ["new: float32 3x3x3x2x2"], [], T="float32"),
    case("Conv3DBackpropFilterV2", [t(8, 12, 28, 28, 48), number(3, 1, 1, 48, 48), t(8, 12, 28, 28, 48)],
         ["new: float32 3x1x1x48x48"], [], T="float32", onednn=True),
    case("Einsum", [t(2, 3, 4), t(2, 4, 5)], ["new: float32 2x3x5"], equation="bij,bjk->bik", T="float32"),
    case("Einsum", [t(2, 3, 4), t(2, 5, 4)], ["new: float32 2x3x5"], equation="bij, bkj -> bik", T="float32"),
    case("Einsum", [t(2, 3, 4, 5), t(2, 6, 4, 5)], ["new: float32 2x4x3x6"], [480, 960],
         equation="bqhd,bkhd->bhqk", T="float32"),
    case("Einsum", [t(2, 4, 3, 6), t(2, 6, 4, 5)], ["new: float32 2x3x4x5"], [960, 480],
         equation="bhqk,bkhd->bqhd", T="float32"),
    case("Einsum", [t(2, 3)], ["new: float32 3x2"], equation="ij->ji", T="float32"),
    case("Einsum", [t(2, 3), t(3, 5)], ["new: float32 5x2"], [40], equation="ij,jk->ki", T="float32"),
    case("Einsum", [t(2, 7, 3), t(3, 5)], ["new: float32 2x7x5"], equation="...j,jk->...k", T="float32"),
    case("Bitcast", [t(8)], ["in 0: int32 8"], T="float32", type="int32"),
    case("Merge", [t(8)], ["in 0: float32 8", "in 0: int32 one"], N=1, T="float32"),
    # what nothing is known of
    case("NobodyKnows", [], ["new: int32 one"], dtype="int32"),
    case("NobodyKnows", [t(8)], ["nowhere: int32 0x4"], outputs=(TensorType((0, 4), "int32"),)),
    case("NobodyKnows", [t(8)], [f"new: int8 {(1 << 56) - 1}"],
         outputs=(TensorType(((1 << 56) - 1,), "int8"),)),
    case("NobodyKnows", [t(8)], ["in 0: float32 8"], T="float32", outputs=(TensorType((1 << 56,), "int8"),)),
    case("NobodyKnows", [t(8)], ["in 0: float32 8"], T="float32", outputs=(TensorType((-1, 4), "int8"),)),
    case("NobodyKnows", [t(8)], ["in 0: float32 8", "new: int8 2"], T="float32",
         outputs=(TensorType(None, "int8"), TensorType((2,), "int8"))),
    case("BroadcastGradientArgs", [Token((2,), "int32")] * 2, ["nowhere: int32 0"] * 2, T="int32"),
    case("StridedSlice", [t(8, 16, 2), *[Token((1,), "int32")] * 3], ["new: float32 16x2"], T="float32"),
    case("Slice", [t(64), number(16), number(32)], ["in 0: float32 32"], T="float32"),
    case("Minimum", [Token((), "int64", (7,)), Token((), "int64")], ["new: int64 one"], T="int64"),
    case("Minimum", [Token((), "int32", (7,)), Token((), "int64")], ["new: int32 one"], T="int32"),
    case("Minimum", [Token((), "int64", (7,)), Token((), "int32")], ["new: int32 one"], T="int32"),
    case("NobodyKnows", [t(8, 16), t(4)], ["in 0: float32 8x16"], T="float32"),
    case("NobodyKnows", [], ["new: float32 one"]),
    case("NobodyKnows", [t(8, 16)], ["new: int32 4"], outputs=(TensorType((4,), "int32"),)),
    case("NobodyKnows", [t(8, 16)], ["new: int32 8x4"], outputs=(TensorType((None, 4), "int32"),)),
]  # fmt: skip


@pytest.mark.parametrize("op, inputs, made, scratch, more", CASES)
def test_what_a_kernel_makes(
    op: str, inputs: Sequence[Any], made: list[str], scratch: list[int], more: dict[str, Any]
) -> None:
    bench = Bench(more.pop("onednn", False), more.pop("l3_bytes", None))
    tokens = [
        each if isinstance(each, Token) else bench.tensor(*each[0], dtype=each[1], holders=each[2])
        for each in inputs
    ]
    result = bench.run(op, *tokens, **more)
    assert bench.said(result) == made
    assert bench.scratch == scratch


@pytest.mark.parametrize(
    "filters, gradient", [((3, 3, 16), (8, 32, 32, 32)), ((3, 3, 16, 32), (8, 32, 32)), ((), ())]
)
def test_filters_and_gradients_that_are_no_convolutions_are_refused(filters: Dims, gradient: Dims) -> None:
    with pytest.raises(MalformedNode):
        Bench().run(
            "Conv2DBackpropInput", number(8, 32, 32, 16), Token(filters), Token(gradient), T="float32"
        )


def test_a_constant_is_made_once() -> None:
    bench = Bench()
    value = Constant((2,), "int32", (3, 4))
    (first,) = bench.run("Const", value=value)
    (second,) = bench.run("Const", value=value)
    assert first is second
    assert bench.said([first]) == ["nowhere: int32 2 [3, 4]"] and not bench.memory.rows


@pytest.mark.parametrize(
    "value, said",
    [
        (Constant((2,), "int32", (3, None)), "nowhere: int32 2"),
        (TensorType((2, 3), "float16"), "nowhere: float16 2x3"),
        (TensorType((2, 3), None), "nowhere: float32 2x3"),
        (TensorType((None, 3), "int32"), "nowhere: int32 0x3"),
        (None, "nowhere: float32 one"),
    ],
)
def test_a_constant_of_which_less_is_known(value: object, said: str) -> None:
    bench = Bench()
    assert bench.said(bench.run("Const", value=value)) == [said]


def test_weights_are_never_overwritten() -> None:
    bench = Bench()
    weights = bench.tensor(8)
    weights.buffer = bench.memory.allocate("w", "VarHandleOp", 32, (8,), "float32", PERSISTENT)
    weights.buffer.holders = 1
    assert bench.said(bench.run("Relu", weights, T="float32")) == ["new: float32 8"]


def test_rows_of_a_variable() -> None:
    bench = Bench()
    handle = Token((), "resource", resource=Variable("table", bench.tensor(100, 8, dtype="float16")))
    assert bench.said(bench.run("ResourceGather", handle, bench.tensor(3, 2, dtype="int32"))) == [
        "new: float16 3x2x8"
    ]
    assert bench.said(bench.run("VariableShape", handle)) == ["new: int32 2 [100, 8]"]
    assert bench.said(bench.run("VariableShape", handle, out_type="int64")) == ["new: int64 2 [100, 8]"]
    with pytest.raises(MalformedNode):
        bench.run("ReadVariableOp", bench.tensor(2))


# ------------------------------------------------------------------ lists of TensorFlow 2's loops


def elements_of(token: Token) -> list[Dims]:
    assert token.buffer is not None and token.buffer.elements is not None
    return [each.shape for each in token.buffer.elements]


def listed(bench: Bench, *elements: Token, holders: int = 1) -> Token:
    """A list that so many hold."""
    call = KernelCall(Node("list", "TensorListReserve"), (), bench.memory, 1, bench.state, [])
    token = list_of(call, elements)
    assert token.buffer is not None
    token.buffer.holders = holders
    return token


def held(token: Token) -> int:
    assert token.buffer is not None
    return token.buffer.holders


def test_an_empty_list_and_one_of_so_many() -> None:
    bench = Bench()
    (empty,) = bench.run("EmptyTensorList", number(), one(0), element_dtype="float32")
    assert elements_of(empty) == []
    (three,) = bench.run("TensorListReserve", number(4), one(3), element_dtype="float16")
    assert elements_of(three) == [(0,)] * 3
    assert [row.requested_bytes for row in bench.memory.rows] == [64, 64]
    assert bench.said(bench.run("TensorListLength", three)) == ["new: int32 one [3]"]
    (unknown,) = bench.run("TensorListReserve", number(4), Token((), "int32"))
    assert elements_of(unknown) == []


@pytest.mark.parametrize("count, fine", [(-1, False), (0, True), (100_000, True), (100_001, False)])
def test_a_list_has_no_more_elements_than_any_program_has(count: int, fine: bool) -> None:
    bench = Bench()
    if fine:
        assert len(elements_of(bench.run("TensorListReserve", number(4), one(count))[0])) == count
    else:
        with pytest.raises(MalformedNode):
            bench.run("TensorListReserve", number(4), one(count))


def test_pushing_changes_a_list_of_ones_own_and_copies_the_handle_of_anothers() -> None:
    bench = Bench()
    own, element = listed(bench), bench.tensor(4)
    (made,) = bench.run("TensorListPushBack", own, element)
    assert made.buffer is own.buffer and elements_of(made) == [(4,)] and held(element) == 2
    shared = listed(bench, bench.tensor(5), holders=2)
    (copy,) = bench.run("TensorListPushBack", shared, element)
    assert copy.buffer is not shared.buffer
    assert elements_of(copy) == [(5,), (4,)] and elements_of(shared) == [(5,)]


def test_popping() -> None:
    bench = Bench()
    first, last = bench.tensor(4), bench.tensor(5)
    made, popped = bench.run("TensorListPopBack", listed(bench, first, last), number())
    assert popped is last and elements_of(made) == [(4,)]
    assert bench.state["released"] == [last.buffer]
    _, nothing = bench.run("TensorListPopBack", listed(bench), number())
    assert bench.said([nothing]) == ["nowhere: float32 one"]


@pytest.mark.parametrize("index, shapes", [(0, [(6,), (5,)]), (1, [(4,), (6,)]), (2, [(4,), (5,)])])
def test_setting_an_element(index: int, shapes: list[Dims]) -> None:
    bench = Bench()
    old, new = [bench.tensor(4), bench.tensor(5)], bench.tensor(6)
    (made,) = bench.run("TensorListSetItem", listed(bench, *old), one(index), new)
    assert elements_of(made) == shapes
    assert held(new) == (2 if index < 2 else 1)
    assert bench.state.get("released", []) == [each.buffer for each in old[index : index + 1]]


def test_an_element_is_the_tensor_itself_or_zeros_where_none_was_written() -> None:
    bench = Bench()
    element = bench.tensor(4, dtype="int32")
    both = listed(bench, element, Token((0,), "float16"))
    (got,) = bench.run("TensorListGetItem", both, one(0), number(4))
    assert got.buffer is element.buffer and (got.shape, got.dtype) == ((4,), "int32")
    assert bench.said(bench.run("TensorListGetItem", both, one(1), number(-1, 3))) == ["new: float16 3"]
    assert bench.said(bench.run("TensorListGetItem", both, one(1), number(0, 3))) == ["nowhere: float16 0x3"]
    assert bench.said(bench.run("TensorListGetItem", both, one(2), number(4))) == ["nowhere: float32 one"]


def test_stacking_a_list() -> None:
    bench = Bench()
    some = listed(bench, Token((0,), "int32"), bench.tensor(4, 3, dtype="int32"))
    assert bench.said(bench.run("TensorListStack", some, number(4, 3))) == ["new: int32 2x4x3"]
    assert bench.said(bench.run("TensorListStack", listed(bench), number(), element_dtype="float16")) == [
        "nowhere: float16 0"
    ]


def test_a_list_from_a_tensor_copies_every_row() -> None:
    bench = Bench()
    (made,) = bench.run("TensorListFromTensor", bench.tensor(3, 16, 2), number())
    assert elements_of(made) == [(16, 2)] * 3
    assert [row.requested_bytes for row in bench.memory.rows[1:]] == [128, 128, 128, 64]
    assert bench.said(bench.run("TensorListElementShape", made)) == ["new: int32 2 [16, 2]"]
    single = listed(bench, bench.tensor(5))
    assert bench.said(bench.run("TensorListElementShape", single)) == ["new: int32 1 [5]"]
    assert bench.said(bench.run("TensorListElementShape", listed(bench))) == ["nowhere: int32 0 []"]
    (empty,) = bench.run("TensorListFromTensor", Token(), number())
    assert elements_of(empty) == []


def test_zeros_like_a_list_are_tensors_like_its_own() -> None:
    bench = Bench()
    (made,) = bench.run("ZerosLike", listed(bench, bench.tensor(4), bench.tensor(5)), T="variant")
    assert elements_of(made) == [(4,), (5,)]


# ------------------------------------------------------------------ stacks and arrays of TensorFlow 1


def test_a_stack_gives_back_the_last_that_was_pushed() -> None:
    bench = Bench()
    (stack,) = bench.run("StackV2", one(10))
    first, last = bench.tensor(4), bench.tensor(5)
    for element in (first, last):
        (passed,) = bench.run("StackPushV2", stack, element)
        assert passed.buffer is element.buffer and held(element) == 2
    assert bench.run("StackPopV2", stack) == [last]
    assert bench.state["released"] == [last.buffer]
    assert bench.run("StackPopV2", stack) == [first]
    assert bench.said(bench.run("StackPopV2", stack)) == ["nowhere: float32 one"]


def array(bench: Bench, size: int = 3, **attributes: object) -> Token:
    handle, flow = bench.run("TensorArrayV3", one(size), **attributes)
    assert bench.said([handle, flow]) == ["nowhere: resource 2", "new: float32 one"]
    return handle


def flow(bench: Bench) -> Token:
    return bench.tensor()


def test_an_array_clears_what_was_read_unless_told_not_to() -> None:
    for clears in (True, False):
        bench = Bench()
        handle = array(bench, clear_after_read=clears)
        element = bench.tensor(4, dtype="int32")
        end = flow(bench)
        (passed,) = bench.run("TensorArrayWriteV3", handle, one(1), element, end)
        assert passed.buffer is end.buffer and held(element) == 2
        for again in (False, True):
            (read,) = bench.run("TensorArrayReadV3", handle, one(1), end)
            assert (read.shape, read.dtype) == ((4,), "int32")
            assert (read.buffer is element.buffer) is not (clears and again)
        assert bench.state.get("released", []) == ([element.buffer] if clears else [])


def test_an_array_clears_by_default() -> None:
    bench = Bench()
    handle, element = array(bench), bench.tensor(4)
    bench.run("TensorArrayWriteV3", handle, one(0), element, flow(bench))
    bench.run("TensorArrayReadV3", handle, one(0), flow(bench))
    assert bench.state["released"] == [element.buffer]


def test_the_size_of_an_array_is_the_greatest_index_that_was_written_at_least_what_was_asked_for() -> None:
    bench = Bench()
    handle = array(bench, 3)
    for index, size in ((1, 3), (3, 4), (6, 7), (2, 7)):
        bench.run("TensorArrayWriteV3", handle, one(index), bench.tensor(4), flow(bench))
        assert bench.said(bench.run("TensorArraySizeV3", handle)) == [f"new: int32 one [{size}]"]
    (unknown, _) = bench.run("TensorArrayV3", Token((), "int32"))
    assert bench.said(bench.run("TensorArraySizeV3", unknown)) == ["new: int32 one [0]"]


def test_writing_where_something_is_makes_a_sum() -> None:
    """A gradient's array adds up: what was there goes, the sum is new."""
    bench = Bench()
    handle, first, second = array(bench), bench.tensor(4), bench.tensor(4)
    bench.run("TensorArrayWriteV3", handle, one(0), first, flow(bench))
    bench.run("TensorArrayWriteV3", handle, one(0), second, flow(bench))
    assert (held(first), held(second)) == (1, 1)
    (read,) = bench.run("TensorArrayReadV3", handle, one(0))
    assert read.buffer not in (first.buffer, second.buffer) and read.shape == (4,)


def test_an_index_picks_the_element() -> None:
    bench = Bench()
    handle, elements, end = array(bench), [bench.tensor(4), bench.tensor(5)], flow(bench)
    for index, element in enumerate(elements):
        bench.run("TensorArrayWriteV3", handle, one(index), element, end)
    for index in (1, 0):
        (read,) = bench.run("TensorArrayReadV3", handle, one(index), end)
        assert read.buffer is elements[index].buffer


def test_without_an_index_the_next_is_written_and_the_first_is_read() -> None:
    bench = Bench()
    handle, first, second, end = array(bench, 0), bench.tensor(4), bench.tensor(5), flow(bench)
    for element in (first, second):
        bench.run("TensorArrayWriteV3", handle, Token((), "int32"), element, end)
    assert bench.said(bench.run("TensorArraySizeV3", handle)) == ["new: int32 one [2]"]
    (read,) = bench.run("TensorArrayReadV3", handle, Token((), "int32"), end)
    assert read.buffer is first.buffer
    (read,) = bench.run("TensorArrayReadV3", array(bench, 0), Token((), "int32"), end)
    assert bench.said([read]) == ["new: float32 one"]


def test_scattering_gathering_and_splitting() -> None:
    bench = Bench()
    handle, value, end = array(bench), bench.tensor(3, 16), flow(bench)
    before = len(bench.memory.rows)
    bench.run("TensorArrayScatterV3", handle, number(0, 1, 2), value, end)
    assert [row.requested_bytes for row in bench.memory.rows[before:]] == [64] * 3
    assert bench.said(bench.run("TensorArrayGatherV3", handle, number(0, 1, 2), end)) == ["new: float32 3x16"]
    assert len(bench.state["released"]) == 3
    assert bench.said(bench.run("TensorArrayGatherV3", handle, number(0, 1), end)) == ["new: float32 2x16"]
    other = array(bench)
    bench.run("TensorArrayScatterV3", other, number(), Token(), end)
    assert not other.resource
    before = len(bench.memory.rows)
    bench.run("TensorArraySplitV3", handle, bench.tensor(6, 8), number(2, 4), end)
    assert [row.requested_bytes for row in bench.memory.rows[before + 1 :]] == [64, 128]
    assert bench.said(bench.run("TensorArrayConcatV3", handle, end)) == ["new: float32 6x8", "new: int64 2"]


def test_an_array_that_keeps_its_elements_keeps_them_when_all_are_read() -> None:
    bench = Bench()
    handle, end = array(bench, clear_after_read=False), flow(bench)
    bench.run("TensorArraySplitV3", handle, bench.tensor(6, 8), number(2, 4), end)
    for _ in range(2):
        bench.run("TensorArrayConcatV3", handle, end)
        bench.run("TensorArrayGatherV3", handle, number(0, 1), end)
    assert "released" not in bench.state
    (empty,) = bench.run("TensorArrayConcatV3", array(bench), end)[:1]
    assert bench.said([empty]) == ["new: float32 1"]


def test_the_gradient_of_an_array_is_one_for_each_source() -> None:
    bench = Bench()
    handle = array(bench)
    grads = [
        bench.run("TensorArrayGradV3", handle, flow(bench), source=source)[0].resource
        for source in ("gradients", "gradients", "gradients_1")
    ]
    assert grads[0] is grads[1] and grads[0] is not grads[2] and grads[0] is not handle.resource
    assert grads[0].clears and bench.state["keep"] == [handle.resource] * 3


@pytest.mark.parametrize("op", ["StackPushV2", "StackPopV2", "TensorArrayReadV3", "TensorArraySizeV3"])
def test_what_is_no_stack_and_no_array_is_refused(op: str) -> None:
    bench = Bench()
    with pytest.raises(MalformedNode):
        bench.run(op, bench.tensor(2), one(0), bench.tensor(2))
    with pytest.raises(MalformedNode):
        bench.run(op)


# ------------------------------------------------------------------ who holds a buffer, and when it goes


def test_a_buffer_goes_with_the_last_that_holds_it_and_takes_its_elements_along() -> None:
    bench = Bench()
    element = bench.tensor(4)
    token = listed(bench, element, holders=2)
    assert held(element) == 2
    bench.memory.release(element.buffer)
    bench.memory.release(token.buffer)
    assert bench.memory.ends == [None, None]
    bench.memory.release(token.buffer)
    assert bench.memory.starts == [1, 2] and bench.memory.ends == [4, 3]
    bench.memory.release(token.buffer)
    bench.memory.release(None)
    assert bench.memory.ends == [4, 3]


def test_what_stays_is_not_freed_by_its_readers() -> None:
    memory = Memory(Pool())
    buffer = memory.allocate("w", "VarHandleOp", 32, (8,), "float32", PERSISTENT)
    memory.release(buffer)
    assert memory.ends == [None]
    memory.free(buffer)
    assert memory.ends == [2]


@pytest.mark.parametrize("size, fine", [(-1, False), (0, True), ((1 << 60) - 1, True), (1 << 60, False)])
def test_sizes_that_no_tensor_has_are_refused(size: int, fine: bool) -> None:
    memory = Memory(Pool())
    if fine:
        assert memory.allocate("a", "Op", size, (), "float32").size_bytes == size
    else:
        with pytest.raises(MalformedNode):
            memory.allocate("a", "Op", size, (), "float32")


@pytest.mark.parametrize(
    "shape, dtype, size",
    [
        ((), "float32", 4),
        ((3, 5), "float16", 30),
        ((0, 5), "float32", 0),
        ((3,), "string", 0),
        ((), "resource", 0),
    ],
)
def test_the_bytes_of_a_tensor(shape: Dims, dtype: str, size: int) -> None:
    assert Token(shape, dtype).bytes == size


def test_operands_that_do_not_go_together_are_no_shape() -> None:
    """A guess for one of them was 2 ** 31 times too long, and the product came to 64 PiB."""
    bench = Bench()
    with pytest.raises(MalformedNode, match="do not go together"):
        bench.run("Mul", bench.tensor(8, 96), bench.tensor(8, 64), T="float32")
    assert bench.said(bench.run("Mul", bench.tensor(8, 1), bench.tensor(8, 64), T="float32"))
