"""Stacks, arrays and lists of loops; recurrent kernels and other ops with several outputs."""

from __future__ import annotations

from tfmemlens.knowledge.ops.record import Batch, Layout, Op, each

OPS = {
    **each(
        """
        EmptyTensorList StackCloseV2 TensorArrayCloseV3 TensorArraySplitV3 TensorListElementShape
        TensorListGetItem TensorListLength TensorListPushBack TensorListReserve TensorListSetItem
    """,
        Op(),
    ),
    **each("StackPopV2 StackPushV2 StackV2", Op(quick=True, effect=True, folded=False)),
    **each("TensorArrayConcatV3", Op(outputs=("value", "lengths"))),
    **each("TensorArrayGatherV3 TensorArrayReadV3 TensorArraySizeV3", Op(folded=False)),
    **each("TensorArrayGradV3", Op(effect=True, folded=False, outputs=("grad_handle", "flow_out"))),
    **each("TensorArrayScatterV3", Op(effect=True, folded=False)),
    **each("TensorArrayV3", Op(effect=True, folded=False, outputs=("handle", "flow"))),
    **each("TensorArrayWriteV3", Op(layout=Layout.REARRANGING, effect=True, folded=False)),
    **each("TensorListConcat TensorListConcatV2", Op(outputs=("tensor", "lengths"))),
    **each("TensorListFromTensor TensorListStack", Op(layout=Layout.REARRANGING)),
    **each("TensorListPopBack", Op(outputs=("output_handle", "tensor"))),
    **each(
        """
        Abort AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 DestroyResourceOp HashTableV2
        Iterator IteratorV2 MutexV2
    """,
        Op(),
    ),
    **each("BatchNormGrad Dilation2DBackpropFilter", Op(batch=Batch.NEVER)),
    **each("Betainc", Op(layout=Layout.FOLLOWING)),
    **each("BlockLSTM BlockLSTMV2 LSTMBlockCell", Op(outputs=("i", "cs", "f", "o", "ci", "co", "h"))),
    **each(
        "CudnnRNN CudnnRNNV2 CudnnRNNV3",
        Op(outputs=("output", "output_h", "output_c", "reserve_space", "host_reserved")),
    ),
    **each("ListDiff", Op(outputs=("out", "idx"))),
    **each("LogMatrixDeterminant", Op(outputs=("sign", "log_abs_determinant"))),
    **each("Qr", Op(outputs=("q", "r"))),
    **each("SelfAdjointEigV2", Op(outputs=("e", "v"))),
    **each("StatelessRandomGetKeyCounterAlg", Op(outputs=("key", "counter", "alg"))),
    **each("Svd", Op(outputs=("s", "u", "v"))),
    **each("Unbatch", Op(layout=Layout.REARRANGING)),
    **each("UniqueWithCounts UniqueWithCountsV2", Op(outputs=("y", "idx", "count"))),
    **each("VarIsInitializedOp", Op(quick=True)),
}
