"""Ops that keep a shape or broadcast several."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.ops.shapes._context import Shape, ShapeContext, rule


@rule(
    """Abs Acos Acosh Angle Asin Asinh Atan Atanh Bitcast Cast Ceil CheckNumerics ComplexAbs Conj Cos Cosh Digamma Elu Enter RefEnter Erf Erfc Exit Exp
    Expm1 Floor GuaranteeConst Identity Imag Inv IsFinite IsInf IsNan Lgamma Log LogicalNot Log1p Neg NextIteration OnesLike PreventGradient Real
    Reciprocal Relu Relu6 Rint Selu Sigmoid Sign Sin Sinh Snapshot Softplus Softsign Round Rsqrt Sqrt Square StopGradient Tan Tanh ZerosLike LeakyRelu
    Softmax LogSoftmax BiasAdd BiasAddV1 ReverseV2 MirrorPadIdentity EnsureShape _Recv _HostRecv Cumsum Cumprod FakeQuantWithMinMaxArgs
    FakeQuantWithMinMaxVars QuantizeAndDequantizeV2 ClipByValue CopyFromGpuToHost _CopyFromGpuToHost CopyFromHostToGpu _CopyFromHostToGpu
    ReluGrad Relu6Grad EluGrad SeluGrad SigmoidGrad TanhGrad SoftplusGrad SoftsignGrad RsqrtGrad SqrtGrad ReciprocalGrad InvGrad LeakyReluGrad
    Assign AssignAdd AssignSub Invert InvertPermutation RandomShuffle Debug Print"""
)
def _same(site: ShapeContext) -> list[Shape]:
    return [
        (
            next((each.shape for each in site.inputs if each.bytes is not None), site.shape(0))
            if site.node.op.endswith("Grad")
            else site.shape(0)
        )
    ]


@rule("ReadVariableOp")
def _read(site: ShapeContext) -> list[Shape]:
    """A VarHandleOp tells its variable's shape; a handle that is passed in tells only its own."""
    return [None if site.inputs and site.inputs[0].dtype == "resource" else site.shape(0)]


@rule("IdentityN")
def _each(site: ShapeContext) -> list[Shape]:
    return [each.shape for each in site.inputs]


@rule("Switch RefSwitch")
def _switch(site: ShapeContext) -> list[Shape]:
    return [site.shape(0), site.shape(0)]


@rule("Merge RefMerge")
def _merge(site: ShapeContext) -> list[Shape]:
    return [next((each.shape for each in site.inputs if each.shape is not None), None), ()]


@rule(
    """Add AddV2 Sub Mul Div RealDiv FloorDiv TruncateDiv DivNoNan MulNoNan Mod FloorMod Pow Maximum Minimum SquaredDifference Atan2 Complex Igamma Igammac
    Zeta Polygamma Xdivy Xlogy Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr ApproximateEqual BitwiseAnd BitwiseOr"""
)
def _broadcast(site: ShapeContext) -> list[Shape]:
    return [broadcast([site.shape(0), site.shape(1)])]


@rule("Select SelectV2")
def _select(site: ShapeContext) -> list[Shape]:
    branches = [site.shape(1), site.shape(2)]
    return [
        (
            broadcast([site.shape(0), *branches])
            if site.node.op == "SelectV2"
            else next((each for each in branches if each is not None), None)
        )
    ]


@rule("AddN AccumulateNV2")
def _sum_of(site: ShapeContext) -> list[Shape]:
    return [next((each.shape for each in site.inputs if each.bytes is not None), site.shape(0))]


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """NumPy's rule; an unknown dimension beside a known one that is not 1 must equal it."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    sides = zip(*[(1,) * (rank - len(shape)) + shape for shape in known], strict=True)
    return tuple(
        next((each for each in side if each is not None and each != 1), None if None in side else 1)
        for side in sides
    )
