"""Stacks, arrays and lists of loops; recurrent kernels and other ops with several outputs."""

from __future__ import annotations

from tfmemlens.knowledge.ops.record import Batch, Layout, Op, Output, each

OPS = {
    **each(
        """
        EmptyTensorList TensorArraySplitV3 TensorListElementShape TensorListGetItem TensorListLength
        TensorListPushBack TensorListReserve TensorListSetItem
    """,
        Op(),
    ),
    **each("StackCloseV2 TensorArrayCloseV3", Op(output=Output.NOTHING)),
    **each("StackPopV2 StackPushV2 StackV2", Op(quick=True, effect=True, folded=False)),
    "TensorArrayConcatV3": Op(outputs=("value", "lengths")),
    **each("TensorArrayGatherV3 TensorArrayReadV3 TensorArraySizeV3", Op(folded=False)),
    "TensorArrayGradV3": Op(effect=True, folded=False, outputs=("grad_handle", "flow_out")),
    "TensorArrayScatterV3": Op(effect=True, folded=False),
    "TensorArrayV3": Op(effect=True, folded=False, outputs=("handle", "flow")),
    "TensorArrayWriteV3": Op(layout=Layout.REARRANGING, effect=True, folded=False),
    **each("TensorListConcat TensorListConcatV2", Op(outputs=("tensor", "lengths"))),
    **each("TensorListFromTensor TensorListStack", Op(layout=Layout.REARRANGING)),
    "TensorListPopBack": Op(outputs=("output_handle", "tensor")),
    **each("Abort DestroyResourceOp", Op(output=Output.NOTHING)),
    **each(
        """
        AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 HashTableV2 Iterator IteratorV2
        MutexV2
    """,
        Op(output=Output.HANDLE),
    ),
    **each("BatchNormGrad Dilation2DBackpropFilter", Op(batch=Batch.NEVER)),
    "Betainc": Op(layout=Layout.FOLLOWING),
    **each("BlockLSTM BlockLSTMV2 LSTMBlockCell", Op(outputs=("i", "cs", "f", "o", "ci", "co", "h"))),
    **each(
        "CudnnRNN CudnnRNNV2 CudnnRNNV3",
        Op(outputs=("output", "output_h", "output_c", "reserve_space", "host_reserved")),
    ),
    "ListDiff": Op(outputs=("out", "idx")),
    "LogMatrixDeterminant": Op(outputs=("sign", "log_abs_determinant")),
    "Qr": Op(outputs=("q", "r")),
    "SelfAdjointEigV2": Op(outputs=("e", "v")),
    "StatelessRandomGetKeyCounterAlg": Op(outputs=("key", "counter", "alg")),
    "Svd": Op(outputs=("s", "u", "v")),
    "Unbatch": Op(layout=Layout.REARRANGING),
    **each("UniqueWithCounts UniqueWithCountsV2", Op(outputs=("y", "idx", "count"))),
    "VarIsInitializedOp": Op(quick=True),
}
