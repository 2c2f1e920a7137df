"""Matrix products, reductions and losses."""

from __future__ import annotations

from tfmemlens.knowledge.ops import values
from tfmemlens.knowledge.ops.record import Batch, Layout, Op, each
from tfmemlens.knowledge.ops.shapes import gathering, products

OPS = {
    **each("_FusedMatMul _MklMatMul", Op(products.matmul, batch=Batch.ROWS_AND_COLUMNS)),
    **each(
        "All Any",
        Op(
            products.reduce,
            values=values.reduced,
            dtypes=("bool",),
            layout=Layout.FOLLOWING_AXES,
            batch=Batch.REDUCED,
        ),
    ),
    **each("ArgMax ArgMin", Op(products.best, dtypes=("output_type=int64",), batch=Batch.REDUCED)),
    **each(
        "BatchMatMul BatchMatMulV2 BatchMatMulV3",
        Op(products.batch_matmul, layout=Layout.REARRANGING, batch=Batch.ROWS_AND_COLUMNS),
    ),
    "CTCLoss": Op(layout=Layout.LOSS, outputs=("loss", "gradient")),
    "Einsum": Op(products.einsum, layout=Layout.REARRANGING),
    "EuclideanNorm": Op(products.reduce, batch=Batch.REDUCED),
    "L2Loss": Op(products.scalar, layout=Layout.LOSS, batch=Batch.NEVER),
    "MatMul": Op(
        products.matmul, layout=Layout.REARRANGING, batch=Batch.ROWS_AND_COLUMNS, fused="_FusedMatMul"
    ),
    **each(
        "Max Min Prod Sum",
        Op(products.reduce, values=values.reduced, layout=Layout.FOLLOWING_AXES, batch=Batch.REDUCED),
    ),
    "Mean": Op(products.reduce, layout=Layout.FOLLOWING_AXES, batch=Batch.REDUCED),
    **each(
        "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
        Op(products.cross_entropy, layout=Layout.LOSS, outputs=("loss", "backprop")),
    ),
    "SparseMatMul": Op(products.matmul),
    "UnsortedSegmentMax": Op(gathering.segments),
}
