"""Shape rules one by one: sides that all differ, the boundaries of each condition, and what is not known."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.errors import MalformedNode
from tfmemlens.knowledge.ops.shapes import Dims, Shape, ShapeContext
from tfmemlens.knowledge.ops.table import op
from tfmemlens.knowledge.ops.type_inference import shapes_of
from tfmemlens.knowledge.ops.values import values_of
from tfmemlens.model.graph import Node
from tfmemlens.model.tensor import TensorType

VECTOR = object()
"""In place of a shape: the input is a vector of the numbers that stand in the same place of `values`."""


def site(
    name: str, shapes: tuple[Any, ...], values: tuple[Dims | None, ...] = (), **stated: Any
) -> ShapeContext:
    """A node with inputs of these shapes, and the numbers of those that are vectors."""
    dtype = stated.pop("dtype", "float32")
    kinds = tuple(
        TensorType((len(values[at] or ()),), "int32") if shape is VECTOR else TensorType(shape, dtype)
        for at, shape in enumerate(shapes)
    )
    known = tuple(values) + (None,) * (len(shapes) - len(values))
    return ShapeContext(Node("n", name, tuple("abcdef")[: len(shapes)], "", stated), kinds, known)


IMAGE = (8, 32, 20, 3)
WINDOW = {"strides": (1, 2, 5, 1), "padding": "VALID"}


@pytest.mark.parametrize(
    ("node", "shapes"),
    [
        (site("Conv2D", (IMAGE, (3, 4, 3, 7)), **WINDOW), [(8, 15, 4, 7)]),
        (site("Conv2D", (IMAGE, (3, 4, 3, 7)), **{**WINDOW, "padding": "SAME"}), [(8, 16, 4, 7)]),
        (site("Conv2D", ((8, None, 20, 3), (3, 4, 3, 7)), **WINDOW), [(8, None, 4, 7)]),
        (site("Conv2D", (IMAGE, (None, 4, 3, 7)), **WINDOW), [(8, None, 4, 7)]),
        (
            site("Conv2D", (IMAGE, (None, 4, 3, 7)), **{**WINDOW, "padding": "SAME"}),
            [(8, 16, 4, 7)],
        ),
        (site("Conv2D", (IMAGE, (3, 4, 3, 7)), **WINDOW, dilations=(1, 2, 3, 1)), [(8, 14, 3, 7)]),
        (
            site(
                "Conv2D",
                (IMAGE, (3, 4, 3, 7)),
                strides=(1, 2, 5, 1),
                padding="EXPLICIT",
                explicit_paddings=(0, 0, 1, 2, 3, 6, 0, 0),
            ),
            [(8, 17, 6, 7)],
        ),
        (
            site(
                "Conv2D", ((8, 3, 32, 20), (3, 4, 3, 7)), strides=(1, 1, 2, 5), padding="VALID",
                data_format="NCHW",
            ),
            [(8, 7, 15, 4)],
        ),
        (site("Conv2D", (None, (3, 4, 3, 7)), **WINDOW), [(None, None, None, 7)]),
        (site("Conv2D", (IMAGE, None), **WINDOW), [(None, None, None, None)]),
        (site("Conv2D", (IMAGE, (3, 3, 7)), **WINDOW), [(None, None, None, None)]),
        (site("Conv2D", ((8, 32, 3), (3, 3, 7)), **WINDOW), [(None, None, None, None)]),
        (site("DepthwiseConv2dNative", (IMAGE, (3, 4, 3, 5)), **WINDOW), [(8, 15, 4, 15)]),
        (site("DepthwiseConv2dNative", (IMAGE, (3, 4, None, 5)), **WINDOW), [(8, 15, 4, None)]),
        (site("DepthwiseConv2dNative", (IMAGE, (3, 4, 3, None)), **WINDOW), [(8, 15, 4, None)]),
        (site("MaxPool", (IMAGE,), ksize=(1, 3, 4, 1), **WINDOW), [(8, 15, 4, 3)]),
        (site("MaxPool", ((8, 32, 3),), ksize=(1, 3, 4, 1), **WINDOW), [(None,) * 4]),
        (site("MaxPool", (None,), ksize=(1, 3, 4, 1), **WINDOW), [(None,) * 4]),
        (
            site("MaxPoolWithArgmax", (IMAGE,), ksize=(1, 3, 4, 1), **WINDOW),
            [(8, 15, 4, 3), (8, 15, 4, 3)],
        ),
        (site("ResizeBilinear", (IMAGE, VECTOR), (None, (64, 40))), [(8, 64, 40, 3)]),
        (site("ResizeBilinear", (IMAGE, (2,))), [(8, None, None, 3)]),
        (site("ResizeBilinear", (IMAGE, VECTOR), (None, (64,))), [(8, None, None, 3)]),
        (site("ResizeBilinear", ((8, 32, 3), VECTOR), (None, (64, 40))), [None]),
        (site("BiasAddGrad", (IMAGE,)), [(3,)]),
        (site("BiasAddGrad", (IMAGE,), data_format="NCHW"), [(32,)]),
        (site("SpaceToDepth", (IMAGE,), block_size=2), [(8, 16, 10, 12)]),
        (site("DepthToSpace", ((8, 16, 10, 12),), block_size=2), [(8, 32, 20, 3)]),
        (site("SpaceToDepth", ((8, None, 10, 12),), block_size=2), [(8, None, 5, 48)]),
        (site("SpaceToDepth", ((8, 32, 3),), block_size=2), [None]),
        (
            site(
                "ExtractImagePatches", (IMAGE,), ksizes=(1, 3, 4, 1), strides=(1, 2, 5, 1),
                rates=(1, 2, 1, 1), padding="VALID",
            ),
            [(8, 14, 4, 36)],
        ),
        (
            site(
                "ExtractImagePatches", (IMAGE,), ksizes=(1, 3, 4, 1), strides=(1, 2, 5, 1),
                rates=(1, 1, 1, 1), padding="SAME",
            ),
            [(8, 16, 4, 36)],
        ),
        (
            site(
                "ExtractImagePatches", ((8, 32, 20, None),), ksizes=(1, 3, 4, 1), strides=(1, 2, 5, 1),
                rates=(1, 1, 1, 1), padding="SAME",
            ),
            [(8, 16, 4, None)],
        ),
        (
            site("FusedBatchNormV3", (IMAGE, (3,), (3,), (3,), (3,))),
            [IMAGE, (3,), (3,), (3,), (3,), None],
        ),
        (
            site("FusedBatchNormGradV3", (None, IMAGE, (3,), (3,), (3,))),
            [IMAGE, (3,), (3,), (0,), (0,)],
        ),
    ],
    ids=lambda value: value.node.op if isinstance(value, ShapeContext) else "",
)  # fmt: skip
def test_images(node: ShapeContext, shapes: list[Shape]) -> None:
    assert shapes_of(node) == shapes


@pytest.mark.parametrize(
    ("node", "shapes"),
    [
        (site("MatMul", ((2, 3), (3, 5))), [(2, 5)]),
        (site("MatMul", ((3, 2), (5, 3)), transpose_a=True, transpose_b=True), [(2, 5)]),
        (site("MatMul", ((2, 3), None)), [None]),
        (site("BatchMatMulV2", ((7, 2, 3), (1, 3, 5))), [(7, 2, 5)]),
        (site("BatchMatMulV2", ((7, 3, 2), (7, 5, 3)), adj_x=True, adj_y=True), [(7, 2, 5)]),
        (site("Sum", ((2, 3, 5), VECTOR), (None, (0, -1))), [(3,)]),
        (site("Sum", ((2, 3, 5), VECTOR), (None, (1,)), keep_dims=True), [(2, 1, 5)]),
        (site("Sum", ((2, 3, 5), (2,))), [None]),
        (site("Sum", ((2, 3, 5), (2,)), keep_dims=True), [(None, None, None)]),
        (site("ArgMax", ((2, 3, 5), VECTOR), (None, (1,))), [(2, 5)]),
        (site("SoftmaxCrossEntropyWithLogits", ((4, 9), (4, 9))), [(4,), (4, 9)]),
        (site("CTCLoss", ((120, 28, 40), (9, 2), (9,), (28,))), [(28,), (120, 28, 40)]),
        (site("CTCLoss", (None, (9, 2), (9,), (28,))), [None, None]),
        (site("L2Loss", ((4, 9),)), [()]),
        (site("Einsum", ((2, 3), (3, 5)), equation="ab,bc->ca"), [(5, 2)]),
        (site("Einsum", ((2, 3), (3, 5)), equation="ab,bc->cza"), [(5, 1, 2)]),
        (site("Einsum", ((7, 8, 2, 3), (3, 5)), equation="...ab,bc->...ac"), [(7, 8, 2, 5)]),
        (site("Einsum", ((2, 3), None), equation="ab,bc->ac"), [None]),
        (site("SelectV2", ((4, 1), (1, 5), (1, 1))), [(4, 5)]),
        (site("SelectV2", ((4, 1), (1, 1), (1, 5))), [(4, 5)]),
        (site("SelectV2", ((4, 1), None, (1, 5))), [None]),
        (site("Select", ((4,), None, (4, 5))), [(4, 5)]),
        (site("Add", ((4, 1), (3, 1, 6))), [(3, 4, 6)]),
        (site("Add", ((4, None), (None, 1))), [(4, None)]),
        (site("Merge", (None, (2, 3))), [(2, 3), ()]),
        (site("Switch", ((2, 3), ())), [(2, 3), (2, 3)]),
        (site("AddN", (None, (2, 3))), [(2, 3)]),
        (site("ReluGrad", (None, (2, 3))), [(2, 3)]),
    ],
    ids=lambda value: value.node.op if isinstance(value, ShapeContext) else "",
)
def test_products_and_elements(node: ShapeContext, shapes: list[Shape]) -> None:
    assert shapes_of(node) == shapes


@pytest.mark.parametrize(
    ("node", "shapes"),
    [
        (site("Reshape", ((4, 6), VECTOR), (None, (3, -1))), [(3, 8)]),
        (site("Reshape", ((4, 6), VECTOR), (None, (3, 8))), [(3, 8)]),
        (site("Reshape", ((4, None), VECTOR), (None, (3, -1))), [(3, None)]),
        (site("Reshape", ((4, 6), VECTOR), (None, (None, -1))), [(None, None)]),
        (site("Reshape", ((4, 0), VECTOR), (None, (0, -1))), [(0, None)]),
        (site("Reshape", ((4, 6), (2,))), [None]),
        (site("Concat", (VECTOR, (2, 3), (2, 5)), ((1,),)), [(2, 8)]),
        (site("ConcatV2", ((2, 3), (2, 5), VECTOR), (None, None, (1,))), [(2, 8)]),
        (site("ConcatV2", ((None, 3), (2, 5), VECTOR), (None, None, (-1,))), [(2, 8)]),
        (site("ConcatV2", ((2, None), (2, 5), VECTOR), (None, None, (1,))), [(2, None)]),
        (site("Split", (VECTOR, (2, 6)), ((1,),), num_split=3), [(2, 2)] * 3),
        (site("Split", (VECTOR, (2, None)), ((1,),), num_split=2), [(2, None)] * 2),
        (site("Split", (VECTOR, (2, 3, 4)), ((1,),), num_split=3), [(2, 1, 4)] * 3),
        (site("Split", ((), (2, 6)), num_split=3), [None] * 3),
        (
            site("SplitV", ((2, 9, 4), VECTOR, VECTOR), (None, (2, -1, 3), (1,))),
            [(2, 2, 4), (2, 4, 4), (2, 3, 4)],
        ),
        (site("SplitV", ((2, None), VECTOR, VECTOR), (None, (2, -1), (1,))), [(2, 2), (2, None)]),
        (site("Pad", ((4, 6), VECTOR), (None, (1, 2, 3, 5))), [(7, 14)]),
        (site("MirrorPadGrad", ((7, 14), VECTOR), (None, (1, 2, 3, 5))), [(4, 6)]),
        (site("Pad", ((4, None), VECTOR), (None, (1, 2, 3, 5))), [(7, None)]),
        (site("Pad", ((4, 6), VECTOR), (None, (1, 2))), [(None, None)]),
        (site("Pad", (None, VECTOR), (None, (1, 2))), [None]),
        (site("Tile", ((4, 6), VECTOR), (None, (2, 3))), [(8, 18)]),
        (site("Tile", ((None, 6), VECTOR), (None, (2, None))), [(None, None)]),
        (site("Squeeze", ((1, 6, 1),)), [(6,)]),
        (site("Squeeze", ((1, 6, 1),), squeeze_dims=(-1,)), [(1, 6)]),
        (site("ExpandDims", ((4, 6), VECTOR), (None, (-1,))), [(4, 6, 1)]),
        (site("ExpandDims", ((4, 6), VECTOR), (None, (1,))), [(4, 1, 6)]),
        (site("Transpose", ((4, 6, 8), VECTOR), (None, (2, 0, 1))), [(8, 4, 6)]),
        (site("Transpose", ((4, 6, 8), VECTOR), (None, (1, 0))), [(None, None, None)]),
        (site("Transpose", (None, VECTOR), (None, (1, 0))), [(None, None)]),
        (site("Transpose", (None, (2,))), [None]),
        (site("Pack", ((4, 6), (4, 6), (4, 6)), axis=1), [(4, 3, 6)]),
        (site("Unpack", ((4, 2, 6),), axis=1, num=2), [(4, 6)] * 2),
        (site("Unpack", (None,), axis=1, num=2), [None] * 2),
        (site("Slice", ((4, 6), VECTOR, VECTOR), (None, (1, 2), (2, -1))), [(2, 4)]),
        (site("Slice", (None, VECTOR, VECTOR), (None, (1, 2), (2, -1))), [(2, None)]),
        (site("Slice", ((4, 6), (2,), VECTOR), (None, None, (2, -1))), [(2, None)]),
        (site("StridedSlice", ((4, 6, 8), (2,), (2,), (2,))), [(None, None, 8)]),
        (site("StridedSlice", ((4, 6, 8), (1,), (1,), (1,))), [(None, 6, 8)]),
        (
            site("StridedSlice", ((4, 6), VECTOR, VECTOR, VECTOR), (None, (-1,), (0,), (1,)),
                 shrink_axis_mask=1),
            [(6,)],
        ),
        (
            site("StridedSlice", ((4, 6, 8), VECTOR, VECTOR, VECTOR), (None, (0, 1), (0, 7), (1, 3)),
                 ellipsis_mask=1),
            [(4, 6, 2)],
        ),
        (site("Gather", ((4, 6), (2, 3))), [(2, 3, 6)]),
        (site("GatherV2", ((4, 6, 8), (4, 3), VECTOR), (None, None, (1,)), batch_dims=1), [(4, 3, 8)]),
        (site("GatherV2", ((4, 6), (2, 3), ())), [None]),
        (site("GatherNd", ((4, 6, 8), (5, 2))), [(5, 8)]),
        (site("GatherNd", ((4, 6, 8), (5, None))), [None]),
        (site("OneHot", ((4,), VECTOR, (), ()), (None, (9,)), axis=0), [(9, 4)]),
        (site("TopK", ((4, 6),), k=2), [(4, 2), (4, 2)]),
        (site("TopKV2", ((), VECTOR), (None, (2,))), [None, None]),
        (site("Unique", ((6,),)), [(None,), (6,)]),
        (
            site("DynamicStitch", (VECTOR, VECTOR, (2, 7), (1, 7)), ((0, 4), (2,))),
            [(5, 7)],
        ),
        (site("DynamicStitch", ((2,), (2, 7))), [(None, 7)]),
        (
            site("SpaceToBatchND", ((2, 6, 9, 5), VECTOR, VECTOR), (None, (2, 3), (1, 1, 0, 3))),
            [(12, 4, 4, 5)],
        ),
        (
            site("BatchToSpaceND", ((12, 4, 4, 5), VECTOR, VECTOR), (None, (2, 3), (1, 1, 0, 3))),
            [(2, 6, 9, 5)],
        ),
        (site("UnsortedSegmentSum", ((9, 4), (9,), VECTOR), (None, None, (5,))), [(5, 4)]),
    ],
    ids=lambda value: value.node.op if isinstance(value, ShapeContext) else "",
)  # fmt: skip
def test_rearranging(node: ShapeContext, shapes: list[Shape]) -> None:
    assert shapes_of(node) == shapes


@pytest.mark.parametrize(
    ("node", "shapes"),
    [
        (site("Diag", ((2, 3),)), [(2, 3, 2, 3)]),
        (site("DiagPart", ((2, 3, 2, 3),)), [(2, 3)]),
        (site("DiagPart", (None,)), [None]),
        (site("MatrixDiag", ((2, 3),)), [(2, 3, 3)]),
        (site("MatrixDiagV3", ((2, 3), VECTOR), (None, (0,))), [(2, 3, 3)]),
        (site("MatrixDiagV3", ((2, 3), VECTOR), (None, (1,))), [None]),
        (site("MatrixDiag", (None,)), [None]),
        (site("MatrixDiagPart", ((2, 3, 4),)), [(2, 3)]),
        (site("MatrixDiagPart", ((2, None, 4),)), [(2, None)]),
        (site("MatrixDiagPartV2", ((2, 3, 4), VECTOR), (None, (-1,))), [None]),
        (site("MatrixDiagPart", ((4,),)), [None]),
        (site("MatrixTriangularSolve", ((2, 3, 3), (2, 3, 5))), [(2, 3, 5)]),
        (site("RFFT", ((2, 9), VECTOR), (None, (8,))), [(2, 5)]),
        (site("RFFT2D", ((2, 7, 9), VECTOR), (None, (6, 8))), [(2, 6, 5)]),
        (site("IRFFT", ((2, 5), VECTOR), (None, (8,))), [(2, 8)]),
        (site("IRFFT", ((2, 5), (1,))), [None]),
        (site("RFFT2D", ((9,), VECTOR), (None, (6, 8))), [None]),
        (site("CropAndResize", (IMAGE, (5, 4), (5,), VECTOR), (None, None, None, (6, 7))), [(5, 6, 7, 3)]),
        (site("CropAndResize", (IMAGE, (5, 4), (5,), (2,))), [(5, None, None, 3)]),
        (site("CropAndResize", ((5,), (5, 4), (5,), (2,))), [None]),
        (site("CropAndResizeGradBoxes", ((5, 6, 7, 3), IMAGE, (5, 4), (5,))), [(5, 4)]),
        (
            site("CropAndResizeGradImage", ((5, 6, 7, 3), (5, 4), (5,), VECTOR), (None, None, None, IMAGE)),
            [IMAGE],
        ),
    ],
    ids=lambda value: value.node.op if isinstance(value, ShapeContext) else "",
)  # fmt: skip
def test_matrices_and_crops(node: ShapeContext, shapes: list[Shape]) -> None:
    assert shapes_of(node) == shapes


@pytest.mark.parametrize(
    "node",
    [
        site("Conv2D", (IMAGE, (3, 4, 3, 7)), strides=(1, 0, 1, 1)),
        site("ConcatV2", ((2, 3), VECTOR), (None, (0,)), N=2),
        site("ConcatV2", ((2, 3), VECTOR), (None, (0,)), N=-1),
        site("ConcatV2", ((2, 3), (2,), VECTOR), (None, None, (0,))),
        site("Split", (VECTOR, (2, 6)), ((1,),), num_split=0),
        site("Slice", ((4, 6), VECTOR, VECTOR), (None, (1,), (2, -1))),
        site("MaxPool", (IMAGE,), ksize=(1, 3), **WINDOW),
    ],
    ids=lambda value: value.node.op,
)
def test_malformed(node: ShapeContext) -> None:
    with pytest.raises(MalformedNode):
        shapes_of(node)


@pytest.mark.parametrize(
    ("node", "values"),
    [
        (site("Size", ((4, 6),)), [(24,)]),
        (site("Size", ((4, None),)), [None]),
        (site("Rank", ((4, 6),)), [(2,)]),
        (site("OnesLike", (VECTOR,), ((7, 8),)), [(1, 1)]),
        (site("ZerosLike", (VECTOR,), ((7, 8),)), [(0, 0)]),
        (site("Sub", (VECTOR, VECTOR), ((7, 9), (2,)), dtype="int32"), [(5, 7)]),
        (site("FloorDiv", (VECTOR, VECTOR), ((7, 9), (2, 0)), dtype="int32"), [(3, None)]),
        (site("FloorMod", (VECTOR, VECTOR), ((-7,), (3,)), dtype="int32"), [(2,)]),
        (site("LessEqual", (VECTOR, VECTOR), ((1, 2, 3), (2,)), dtype="int32"), [(1, 1, 0)]),
        (site("Less", (VECTOR, VECTOR), ((1, 2, 3), (2,)), dtype="int32"), [(1, 0, 0)]),
        (site("Greater", (VECTOR, VECTOR), ((1, 2, 3), (2,)), dtype="int32"), [(0, 0, 1)]),
        (site("GreaterEqual", (VECTOR, VECTOR), ((1, 2, 3), (2,)), dtype="int32"), [(0, 1, 1)]),
        (site("Equal", (VECTOR, VECTOR), ((1, 2), (2,)), dtype="int32"), [(0, 1)]),
        (site("NotEqual", (VECTOR, VECTOR), ((1, 2), (2,)), dtype="int32"), [(1, 0)]),
        (site("LogicalAnd", (VECTOR, VECTOR), ((1, 1, 0), (1, 0, 0)), dtype="bool"), [(1, 0, 0)]),
        (site("LogicalOr", (VECTOR, VECTOR), ((1, 1, 0), (1, 0, 0)), dtype="bool"), [(1, 1, 0)]),
        (site("LogicalNot", (VECTOR,), ((1, 0, None),), dtype="bool"), [(0, 1, None)]),
        (site("LogicalNot", (VECTOR,), (None,), dtype="bool"), [None]),
        (site("Range", (VECTOR,) * 3, ((0,), (64,), (1,))), [tuple(range(64))]),
        (site("Range", (VECTOR,) * 3, ((0,), (65,), (1,))), [None]),
        (site("Fill", (VECTOR, ()), ((64,), (3,))), [(3,) * 64]),
        (site("Fill", (VECTOR, ()), ((65,), (3,))), [None]),
        (site("Fill", (VECTOR, ()), ((0,), (3,))), [()]),
        (site("Slice", (VECTOR,) * 3, ((5, 6, 7, 8), (1,), (2,))), [(6, 7)]),
        (site("Slice", (VECTOR,) * 3, ((5, 6, 7, 8), (1,), (-1,))), [(6, 7, 8)]),
        (site("Prod", (VECTOR, VECTOR), ((5, 6), (0,))), [(30,)]),
        (site("Max", (VECTOR, VECTOR), ((5, None), (0,))), [None]),
        (site("InvertPermutation", (VECTOR,), ((2, 0, 1),)), [(1, 2, 0)]),
        (site("InvertPermutation", (VECTOR,), ((2, 0, 3),)), []),
        (site("DataFormatVecPermute", (VECTOR,), ((8, 32, 20, 3),)), [(8, 3, 32, 20)]),
        (site("DataFormatVecPermute", (VECTOR,), ((1, 2, 3, 4, 5, 6, 7, 8),)), [(1, 2, 7, 8, 3, 4, 5, 6)]),
        (site("DataFormatDimMap", (VECTOR,), ((1, -1),)), [(2, 1)]),
        (site("DynamicStitch", (VECTOR,) * 4, ((0, 2), (1,), (5, 6), (9,))), [(5, 9, 6)]),
        (site("DynamicStitch", (VECTOR,) * 2, ((64,), (5,))), [None]),
        (
            site("ConcatOffset", (VECTOR,) * 4, ((1,), (2, 3), (2, 4), (2, 5))),
            [(0, 0), (0, 3), (0, 7)],
        ),
        (
            site("ConcatOffset", (VECTOR,) * 3, ((1,), (2, None), (2, 4))),
            [(0, 0), (0, None)],
        ),
        (site("Unpack", (VECTOR,), ((5, 6),), num=2), [(5,), (6,)]),
        (site("Mul", (VECTOR, VECTOR), ((), (3,)), dtype="int32"), [()]),
        (site("Split", (VECTOR, VECTOR), ((0,), (5, 6, 7, 8)), num_split=2), [(5, 6), (7, 8)]),
        (site("SplitV", (VECTOR,) * 3, ((5, 6, 7), (1, -1, 0), (0,)), num_split=3), [(5,), (6, 7), ()]),
        (site("SplitV", ((3,), VECTOR, VECTOR), (None, (1, 2), (0,)), num_split=2), []),
        (
            site("ConcatV2", ((3, 1), (3, 1), VECTOR), ((1, 2, 3), (4, 5, 6), (1,)), N=2),
            [(1, 4, 2, 5, 3, 6)],
        ),
        (site("ConcatV2", ((3, 1), (3, 1), VECTOR), ((1, 2, 3), None, (1,)), N=2), [None]),
        (site("ConcatV2", ((3, 1), (2, 1), VECTOR), ((1, 2, 3), (4, 5), (1,)), N=2), [None]),
        (site("ConcatV2", ((3, 1, 1), (3, 1, 1), VECTOR), ((1, 2, 3), (4, 5, 6), (1,)), N=2), [None]),
    ],
    ids=lambda value: value.node.op if isinstance(value, ShapeContext) else "",
)
def test_numbers(node: ShapeContext, values: list[Dims | None]) -> None:
    found = values_of(node, op(node.node.op).values)
    assert found == values
