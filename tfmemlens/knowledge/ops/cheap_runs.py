"""Which kernels the executor counts as cheap once it has seen them run, so that they run at once.

Each kernel begins with an estimate of 1e8 cycles, a tenth of which each run replaces by what it took;
below a threshold it is cheap (kOpIsExpensiveThresholdCycles: 5000 in 1.15, 8000 in newer ones). That
happens in loops, and late in a training. How many bytes a kernel may read and write in so few cycles was
measured on a CPU of 2.5 GHz with 1.15, 2.4, 2.11 and 2.21: a body with the kernel beside a large product,
of which the executor's log tells the first.
"""

from __future__ import annotations

from tfmemlens.units import KIB

RUNS = 97
"""Runs until a kernel that takes a few hundred cycles is cheap: 0.9 ** 94 of the first estimate is 5000."""
_HIGHER_THRESHOLD = (2, 5)
_OF_EVERY_SIZE = 1 << 62

_FAST = (
    "Abs AddN BroadcastTo Ceil Floor Gather GatherV2 Maximum Minimum Neg Relu Relu6 Relu6Grad ReluGrad"
    " SigmoidGrad Slice Sqrt SqrtGrad Square StridedSlice TanhGrad ZerosLike OnesLike Fill"
)
_MIDDLE = (
    "Add AddV2 BiasAdd BiasAddV1 BiasAddGrad Concat ConcatV2 Div DivNoNan Mul Pack RealDiv Rsqrt"
    " SquaredDifference Sub"
)
_SLOW = "Elu EluGrad Erf Exp Log Log1p Pow Sigmoid Softplus SoftplusGrad Tanh Tile"
_BYTEWISE = "Cast Equal Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr NotEqual Select SelectV2"
_REDUCING = "Max Mean Min Prod Sum"
_NEVER = "RandomStandardNormal RandomUniform Softmax Transpose TruncatedNormal"
_HANDING_ON = (
    "StackPopV2 StackPushV2 TensorArrayReadV3 TensorArrayWriteV3 TensorListGetItem TensorListPopBack"
    " TensorListPushBack TensorListSetItem"
)
_BYTES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_FAST.split(), (160 * KIB, 320 * KIB)),
    **dict.fromkeys(_MIDDLE.split(), (48 * KIB, 160 * KIB)),
    **dict.fromkeys(_SLOW.split(), (20 * KIB, 48 * KIB)),
    **dict.fromkeys(_BYTEWISE.split(), (6 * KIB, 48 * KIB)),
    **dict.fromkeys(_REDUCING.split(), (48 * KIB, 0)),
    **dict.fromkeys(_NEVER.split(), (0, 0)),
    **dict.fromkeys(_HANDING_ON.split(), (_OF_EVERY_SIZE, _OF_EVERY_SIZE)),
    "Split": (0, 96 * KIB),
    "SplitV": (0, 96 * KIB),
}
"""Read and written at most by a kernel that gets cheap, up to 2.4 and from 2.5 on."""
_ANY = (4 * KIB, 4 * KIB)


def cheap_bytes(op: str, version: tuple[int, ...] = ()) -> int:
    """The most bytes that a kernel of this op may read and write and get cheap; versions that are not known
    count as new.
    """
    old, new = _BYTES.get(op, _ANY)
    return old if () < version < _HIGHER_THRESHOLD else new
