"""What Grappler's layout pass does with each op type: convert it, let transposes pass through it, or stop at
it.

From `layout_optimizer.cc` (1.4 to 1.14) and `generic_layout_optimizer_transposer.cc` (1.15 to 2.21).
"""

from __future__ import annotations

CONVERTED = frozenset(
    """
        Conv2D Conv2DBackpropFilter Conv2DBackpropInput DepthwiseConv2dNative
        DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter BiasAdd BiasAddGrad AvgPool
        AvgPoolGrad MaxPool MaxPoolV2 MaxPoolGrad MaxPoolGradV2 MaxPoolGradGrad MaxPoolGradGradV2
        FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGrad FusedBatchNormGradV2
        FusedBatchNormGradV3 _FusedBatchNormEx _FusedBatchNormGradEx FusedConv2DBiasActivation _FusedConv2D
        SpaceToDepth DepthToSpace Conv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2 MaxPool3D MaxPool3DGrad
        AvgPool3D AvgPool3DGrad
    """.split()
)
"""Ops with a `data_format` of their own."""

REDUCTIONS = frozenset("Sum Mean Prod Max Min All Any".split())
BINARY = frozenset(
    """
        Add AddV2 Atan2 ApproximateEqual Equal Greater GreaterEqual Less LessEqual NotEqual Complex Div
        RealDiv DivNoNan FloorDiv Igamma Igammac LogicalAnd LogicalOr Maximum Minimum Mod FloorMod Mul
        MulNoNan Polygamma Pow SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlogy Zeta
    """.split()
)
AGNOSTIC = (
    BINARY
    | REDUCTIONS
    | frozenset(
        """
            Abs Acos Acosh AddN Angle Asin Asinh Atan Atanh Betainc Bitcast Cast Ceil CheckNumerics ComplexAbs
            Concat ConcatV2 Conj Cos Cosh Digamma Elu EluGrad Enter Erf Erfc Exit Exp Expm1 Fill Floor
            GuaranteeConst Identity IdentityN Imag Inv InvGrad IsFinite IsInf IsNan Lgamma Log Log1p
            LogicalNot Merge MirrorPad MirrorPadGrad Neg NextIteration OnesLike Pad PreventGradient Real
            Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad ReverseV2 Rint Round Rsqrt RsqrtGrad
            Select SelectV2 Selu SeluGrad Shape ShapeN Sigmoid SigmoidGrad Sign Sin Sinh Slice Snapshot
            Softplus SoftplusGrad SoftsignGrad Split SplitV Sqrt SqrtGrad Square Squeeze StopGradient
            StridedSlice Switch Tan Tanh TanhGrad Tile ZerosLike LeakyRelu LeakyReluGrad
        """.split()
    )
)
"""Ops that work on either format, if all goes well."""

FEEDS = frozenset(
    """
        Placeholder PlaceholderV2 PlaceholderWithDefault _Arg IteratorGetNext IteratorGetNextSync
        OneShotIterator QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2 InfeedDequeueTuple FIFOQueueV2
    """.split()
)
RANDOM = frozenset(
    """
        RandomUniform RandomStandardNormal TruncatedNormal RandomUniformInt StatelessRandomUniform
        StatelessRandomUniformV2 StatelessRandomNormal StatelessRandomNormalV2 StatelessTruncatedNormal
        StatelessTruncatedNormalV2 Multinomial
    """.split()
)
STORED = frozenset("Const HostConst VariableV2 Variable VarHandleOp ReadVariableOp _VarHandlesOp".split())
HOST = frozenset(
    "PyFunc PyFuncStateless EagerPyFunc _Send _HostSend _Recv _HostRecv Print PrintV2 ImageSummary"
    " HistogramSummary TensorSummary Assert".split()
)
REARRANGING = frozenset(
    """
        Reshape Transpose ConjugateTranspose ExpandDims Pack Unpack MatMul BatchMatMul BatchMatMulV2
        BatchMatMulV3 Einsum SpaceToBatchND BatchToSpaceND BroadcastTo Gather GatherV2 GatherNd Unbatch
        TensorArrayWriteV3 TensorListStack TensorListFromTensor
    """.split()
)
LOSSES = frozenset("L2Loss SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits CTCLoss".split())
SENSITIVE = CONVERTED - {"BiasAdd", "BiasAddGrad"}


def data_inputs(op: str, count: int) -> range | tuple[int, ...]:
    """Which of an agnostic op's inputs carry the tensor itself, rather than axes, sizes or conditions."""
    if op == "Split":
        return (1,)
    if op == "Concat":
        return range(1, count)
    if op == "ConcatV2":
        return range(max(count - 1, 0))
    if op in BINARY or (op.endswith("Grad") and op in AGNOSTIC):
        return range(min(count, 2))
    if op in ("Select", "SelectV2", "Betainc"):
        return range(min(count, 3))
    if op in ("AddN", "IdentityN", "Merge", "ShapeN"):
        return range(count)
    return (0,) if count else ()
