"""Ops that work on element beside element."""

from __future__ import annotations

from tfmemlens.knowledge.ops import values
from tfmemlens.knowledge.ops.record import Layout, Op, Output, Swallowed, each
from tfmemlens.knowledge.ops.shapes import elementwise

OPS = {
    **each(
        """
        Abs Acos Acosh Angle Asin Asinh Atan Atanh Ceil ComplexAbs Conj Cos Cosh Digamma EluGrad
        Erf Erfc Exp Expm1 Floor Imag Inv InvGrad LeakyRelu LeakyReluGrad Lgamma Log Log1p Neg Real
        Reciprocal ReciprocalGrad Relu6Grad ReluGrad Rint Round Rsqrt RsqrtGrad Selu
        SeluGrad Sigmoid SigmoidGrad Sign Sin Sinh Softplus SoftplusGrad SoftsignGrad Sqrt SqrtGrad
        Square Tan Tanh TanhGrad
    """,
        Op(elementwise.same, output=Output.OVERWRITTEN, layout=Layout.FOLLOWING),
    ),
    **each(
        "Elu Relu Relu6",
        Op(
            elementwise.same,
            output=Output.OVERWRITTEN,
            layout=Layout.FOLLOWING,
            swallowed=Swallowed.ACTIVATION,
        ),
    ),
    "AccumulateNV2": Op(elementwise.sum_of, output=Output.OVERWRITTEN, commutative=True),
    "AddN": Op(elementwise.sum_of, output=Output.OVERWRITTEN, layout=Layout.FOLLOWING, commutative=True),
    **each(
        "BiasAddV1 ClipByValue FakeQuantWithMinMaxArgs Invert LogSoftmax Softmax Softsign",
        Op(elementwise.same, output=Output.OVERWRITTEN),
    ),
    "Bitcast": Op(
        elementwise.same,
        values=values.passed,
        dtypes=("type",),
        output=Output.PASSED,
        layout=Layout.FOLLOWING,
    ),
    "Cast": Op(elementwise.same, values=values.passed, layout=Layout.FOLLOWING),
    "CheckNumerics": Op(
        elementwise.same, values=values.passed, output=Output.PASSED, layout=Layout.FOLLOWING
    ),
    **each(
        """
        CopyFromGpuToHost CopyFromHostToGpu Cumprod Cumsum FakeQuantWithMinMaxVars MirrorPadIdentity
        QuantizeAndDequantizeV2 RandomShuffle Reverse ReverseSequence Roll TensorScatterAdd
        TensorScatterUpdate
    """,
        Op(elementwise.same),
    ),
    "DebugIdentity": Op(elementwise.same, values=values.passed, output=Output.PASSED),
    "EnsureShape": Op(elementwise.same, values=values.passed, output=Output.PASSED, quick=True),
    **each(
        "GuaranteeConst Identity PreventGradient StopGradient",
        Op(elementwise.same, values=values.passed, output=Output.PASSED, layout=Layout.FOLLOWING, quick=True),
    ),
    "IdentityN": Op(elementwise.each, output=Output.PASSED, layout=Layout.FOLLOWING, quick=True),
    **each(
        "IsFinite IsInf IsNan",
        Op(elementwise.same, dtypes=("bool",), output=Output.OVERWRITTEN, layout=Layout.FOLLOWING),
    ),
    "LogicalNot": Op(
        elementwise.same,
        values=values.negated,
        dtypes=("bool",),
        output=Output.OVERWRITTEN,
        layout=Layout.FOLLOWING,
    ),
    **each(
        "OnesLike ZerosLike",
        Op(elementwise.same, values=values.alike, output=Output.OVERWRITTEN, layout=Layout.FOLLOWING),
    ),
    "OptionalFromValue": Op(elementwise.same, output=Output.PASSED),
    "ReverseV2": Op(elementwise.same, layout=Layout.FOLLOWING),
    **each("Select SelectV2", Op(elementwise.selected, output=Output.OVERWRITTEN, layout=Layout.FOLLOWING)),
    "Snapshot": Op(
        elementwise.same,
        values=values.passed,
        output=Output.PASSED,
        layout=Layout.FOLLOWING,
        quick=True,
        folded=False,
    ),
    "TupleN": Op(elementwise.each),
    **each(
        "Add AddV2 Maximum Minimum Mul",
        Op(
            elementwise.broadcasted,
            values=values.computed,
            output=Output.OVERWRITTEN,
            layout=Layout.FOLLOWING_BOTH,
            commutative=True,
        ),
    ),
    "ApproximateEqual": Op(elementwise.broadcasted, dtypes=("bool",), layout=Layout.FOLLOWING_BOTH),
    **each(
        "Atan2 DivNoNan Igamma Igammac MulNoNan Polygamma Pow RealDiv Xdivy Xlogy Zeta",
        Op(elementwise.broadcasted, output=Output.OVERWRITTEN, layout=Layout.FOLLOWING_BOTH),
    ),
    **each("BitwiseAnd BitwiseOr Xlog1py", Op(elementwise.broadcasted, output=Output.OVERWRITTEN)),
    "Complex": Op(elementwise.broadcasted, layout=Layout.FOLLOWING_BOTH),
    **each(
        "Div FloorDiv FloorMod Mod Sub TruncateDiv TruncateMod",
        Op(
            elementwise.broadcasted,
            values=values.computed,
            output=Output.OVERWRITTEN,
            layout=Layout.FOLLOWING_BOTH,
        ),
    ),
    **each(
        "Equal LogicalAnd LogicalOr NotEqual",
        Op(
            elementwise.broadcasted,
            values=values.computed,
            dtypes=("bool",),
            output=Output.OVERWRITTEN,
            layout=Layout.FOLLOWING_BOTH,
            commutative=True,
        ),
    ),
    **each(
        "Greater GreaterEqual Less LessEqual",
        Op(
            elementwise.broadcasted,
            values=values.computed,
            dtypes=("bool",),
            output=Output.OVERWRITTEN,
            layout=Layout.FOLLOWING_BOTH,
        ),
    ),
    "SquaredDifference": Op(
        elementwise.broadcasted, output=Output.OVERWRITTEN, layout=Layout.FOLLOWING_BOTH, commutative=True
    ),
}
