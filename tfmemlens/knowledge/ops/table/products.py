"""Matrix products, reductions and losses."""

from __future__ import annotations

from tfmemlens.knowledge.ops import values
from tfmemlens.knowledge.ops.record import Batch, Layout, Op, Output, each
from tfmemlens.knowledge.ops.shapes import elementwise, gathering, matrices, products

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
    **each("CTCLoss CTCLossV2", Op(products.ctc_loss, layout=Layout.LOSS, outputs=("loss", "gradient"))),
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
    **each("Cholesky CholeskyGrad MatrixInverse", Op(elementwise.same, output=Output.OVERWRITTEN)),
    "Diag": Op(matrices.diagonal),
    "DiagPart": Op(matrices.diagonal_part),
    **each("FFT FFT2D FFT3D IFFT IFFT2D IFFT3D", Op(elementwise.same, dtypes=("Tcomplex=complex64",))),
    **each("IRFFT IRFFT2D IRFFT3D", Op(matrices.transform, dtypes=("Treal=float32",))),
    **each(
        "MatrixBandPart MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3",
        Op(elementwise.same, output=Output.OVERWRITTEN),
    ),
    **each("MatrixDiag MatrixDiagV2 MatrixDiagV3", Op(matrices.matrix_diagonal)),
    **each("MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3", Op(matrices.matrix_diagonal_part)),
    **each("MatrixSolve MatrixTriangularSolve", Op(matrices.solution)),
    **each("RFFT RFFT2D RFFT3D", Op(matrices.transform, dtypes=("Tcomplex=complex64",))),
    "SparseMatMul": Op(products.matmul),
    "UnsortedSegmentMax": Op(gathering.segments),
}
