"""Ops that reshape, join, cut, pick and repeat, and the small vectors that tell them how."""

from __future__ import annotations

from tfmemlens.knowledge.ops import values
from tfmemlens.knowledge.ops.record import Batch, Layout, Op, Output, each
from tfmemlens.knowledge.ops.shapes import elementwise, gathering, products, rearranging, slicing, vectors

OPS = {
    **each(
        "BatchToSpaceND SpaceToBatchND",
        Op(gathering.batch_blocks, layout=Layout.REARRANGING, batch=Batch.JOINED),
    ),
    "Concat": Op(rearranging.concat, layout=Layout.FOLLOWING, batch=Batch.JOINED),
    "ConcatV2": Op(rearranging.concat, values=values.joined, layout=Layout.FOLLOWING, batch=Batch.JOINED),
    "ConjugateTranspose": Op(rearranging.transpose, layout=Layout.REARRANGING),
    "DynamicStitch": Op(gathering.stitch, values=values.stitched, batch=Batch.JOINED),
    "ExpandDims": Op(
        rearranging.expand,
        values=values.passed,
        output=Output.PASSED,
        layout=Layout.REARRANGING,
        batch=Batch.RESHAPED,
        quick=True,
    ),
    **each(
        "Gather GatherV2",
        Op(gathering.gather, values=values.gathered, layout=Layout.REARRANGING, batch=Batch.JOINED),
    ),
    "GatherNd": Op(gathering.gather_nd, layout=Layout.REARRANGING, batch=Batch.JOINED),
    **each("MirrorPad MirrorPadGrad Pad", Op(rearranging.pad, layout=Layout.FOLLOWING)),
    "OneHot": Op(gathering.one_hot),
    "Pack": Op(rearranging.pack, values=values.packed, layout=Layout.REARRANGING, batch=Batch.JOINED),
    "PadV2": Op(rearranging.pad),
    "ParallelDynamicStitch": Op(gathering.stitch, values=values.stitched),
    "Reshape": Op(
        rearranging.reshape,
        values=values.passed,
        output=Output.PASSED,
        layout=Layout.REARRANGING,
        batch=Batch.RESHAPED,
        quick=True,
    ),
    "ResourceGather": Op(gathering.gather),
    "ScatterNd": Op(gathering.scatter_nd),
    "SegmentSum": Op(gathering.segments),
    "Slice": Op(slicing.sliced, values=values.cut, layout=Layout.FOLLOWING),
    "Split": Op(rearranging.split, values=values.divided, layout=Layout.FOLLOWING, batch=Batch.JOINED),
    "SplitV": Op(rearranging.split_sizes, values=values.divided, layout=Layout.FOLLOWING, batch=Batch.JOINED),
    "Squeeze": Op(
        rearranging.squeeze,
        values=values.passed,
        output=Output.PASSED,
        layout=Layout.FOLLOWING,
        batch=Batch.REDUCED,
        quick=True,
    ),
    "StatelessRandomGetKeyCounter": Op(
        gathering.key_and_counter, dtypes=("uint64",), outputs=("key", "counter")
    ),
    "StridedSlice": Op(slicing.strided_slice, values=values.sliced, layout=Layout.FOLLOWING),
    "StridedSliceGrad": Op(slicing.unsliced),
    "Tile": Op(rearranging.tile, layout=Layout.FOLLOWING, batch=Batch.REPEATED),
    **each("TopK TopKV2", Op(gathering.top_k, dtypes=("T", "int32"), outputs=("values", "indices"))),
    "Transpose": Op(
        rearranging.transpose, values=values.transposed, layout=Layout.REARRANGING, batch=Batch.PERMUTED
    ),
    **each("Unique UniqueV2", Op(gathering.unique, dtypes=("T", "out_idx=int32"), outputs=("y", "idx"))),
    "Unpack": Op(rearranging.unpack, values=values.unpacked, layout=Layout.REARRANGING, batch=Batch.REDUCED),
    "UnsortedSegmentSum": Op(gathering.segments, batch=Batch.NEVER),
    "BroadcastGradientArgs": Op(
        vectors.axes,
        values=values.broadcast_axes,
        batch=Batch.NEVER,
        quick=True,
        outputs=("r0", "r1"),
        by_shapes=True,
    ),
    "ConcatOffset": Op(
        vectors.offsets,
        values=values.offsets,
        dtypes=("int32",),
        batch=Batch.NEVER,
        quick=True,
        by_shapes=True,
    ),
    **each("DataFormatDimMap DataFormatVecPermute", Op(elementwise.same, values=values.permuted)),
    "InvertPermutation": Op(elementwise.same, values=values.inverted, batch=Batch.NEVER, quick=True),
    "Range": Op(vectors.sequence, values=values.ranged, dtypes=("Tidx=int32",), batch=Batch.NEVER),
    "Rank": Op(
        products.scalar, values=values.rank, dtypes=("int32",), batch=Batch.NEVER, quick=True, by_shapes=True
    ),
    "Shape": Op(
        vectors.of_shape,
        values=values.shapes,
        dtypes=("out_type=int32",),
        layout=Layout.FOLLOWING,
        batch=Batch.NEVER,
        quick=True,
        by_shapes=True,
    ),
    "ShapeN": Op(
        vectors.of_shapes,
        values=values.shapes,
        dtypes=("out_type=int32",),
        layout=Layout.FOLLOWING,
        batch=Batch.NEVER,
        quick=True,
        by_shapes=True,
    ),
    "Size": Op(
        products.scalar,
        values=values.size,
        dtypes=("out_type=int32",),
        batch=Batch.NEVER,
        quick=True,
        by_shapes=True,
    ),
}
