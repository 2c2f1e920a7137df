"""What the first dimension of a failed request is: the batch, something else, or nobody knows.

A first dimension is the batch only with evidence. Image heights, rows of kernels and tables, boxes, time
steps and flattened positions stand there as well.
"""

from __future__ import annotations

import re

from tfmemlens.attribution.names import vocabulary as words
from tfmemlens.attribution.names.weight_gradients import of_weights
from tfmemlens.knowledge.images import sides_of_an_image
from tfmemlens.knowledge.kernel_shapes import like_a_kernel, like_a_turned_kernel
from tfmemlens.knowledge.weight_penalties import is_penalty
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.model.incident import FailedRequest, RequestKind
from tfmemlens.patterns import regex
from tfmemlens.values import dataclass, replace

_LAYERS = regex(
    r"(?:Fused)?Conv[23]DBackpropInput\w*|(?:_Fused)?Conv[23]D|DepthwiseConv2dNative(?:BackpropInput)?"
    r"|_?Fused(?:Conv2D|MatMul|BatchNorm(?:Grad)?(?:V\d|Ex)?)|BatchNorm\w*|BiasAdd(?:V1)?"
    r"|(?:Leaky|Crelu|S?e)?[Rr]?elu6?(?:Grad)?|Relu(?:6|Grad|6Grad)?|Elu(?:Grad)?|Selu(?:Grad)?"
    r"|Softplus(?:Grad)?|Softmax|LogSoftmax|Tanh(?:Grad)?|Sigmoid(?:Grad)?|Erf"
    r"|(?:Max|Avg)Pool(?:3D)?(?:Grad)?(?:V\d|WithArgmax)?|LRN(?:Grad)?|Resize(?:Nearest\w*|Bi\w+)"
    r"|Mirror\w+|Pad\w*"
    r"|BatchMatMul(?:V\d)?|MatMul|GRUBlockCell\w*|LSTMBlockCell\w*"
    r"|DepthToSpace|BatchToSpace(?:ND)?|ExtractImagePatches|convolution|conv(?:2d)?_transpose|depthwise"
    r"|separable_conv2d"
)
"""Ops of layers: what they make has the batch first, of two dimensions or more."""
_ELEMENTWISE = regex(
    r"Add(?:V2|N)?|Sub|Mul|RealDiv|Maximum|Minimum|Square|Sqrt|Rsqrt|Neg|Abs|Exp|Log|Pow|Cast|ConcatV2"
    r"|Concat|Select(?:V2)?"
    r"|GreaterEqual|RandomUniform|StatelessRandomUniform(?:V2)?|Mean|Split|SplitV|Slice|StridedSlice"
    r"|Pack|Transpose|Identity"
    r"|GatherV2|Gather|ResourceGather|Einsum|OneHot",
    re.IGNORECASE,
)
"""Ops that are in layers and elsewhere."""
_KERNELS = regex(
    r"(?:conv_(?:ops|grad_input)|relu|bias|fused_batch_norm|maxpooling|avgpooling|pooling_ops|lrn)_?\w*"
    r"|concat_op"
)
"""C++ sources of such ops, where the message names nothing else."""
_NOT_BATCHED = regex(
    r"CropAndResize|NonMaxSuppression|TensorArray|TensorList|CudnnRNN|Boxes|SpaceToBatch"
    r"|(?:\A|/)(?:map|pfor|loop_body)/|patches|second_?stage|proposals?(?:\b|_)|(?:\b|_)rois?(?:\b|_)|mrcnn",
    re.IGNORECASE,
)
"""Boxes, iterations, time steps and pieces come first in these."""
_UNIQUE = regex(r"_\d+\Z")
_LONG_SIDE = 8
_WIDE = 5000
"""From here on a last dimension of a matrix is likely a vocabulary's: then its rows are positions."""
_POSITIONS = 2048
"""From here on the rows of a matrix are as likely positions of all samples, nodes of a graph, or pixels."""
_UNITS = 512
"""From here on the first dimension before two sides of 1 is that of a kernel: units, no samples."""


@dataclass(frozen=True, slots=True)
class FirstDimension:
    """What is known of the first dimension of what was asked for."""

    batch: int | None = None
    """The batch, None where nothing shows that it stands there."""
    fixed: bool = False
    """Whether the tensor is as large whatever the batch."""


def first_dimension(request: FailedRequest, owner: Owner) -> FirstDimension:
    """What the request, its op and the tensors that its layer was called with tell."""
    if _is_fixed(request, owner):
        return FirstDimension(fixed=True)
    return FirstDimension(_batch(request, owner))


def _is_fixed(request: FailedRequest, owner: Owner) -> bool:
    if request.kind in (RequestKind.XLA, RequestKind.TPU, RequestKind.PROGRAM):
        return False
    return (
        owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.CONSTANT)
        or owner.phase is Phase.OPTIMIZER
        or request.pipeline
        or (request.kind is RequestKind.HOST and request.shape is not None)
        or (request.node or request.op or "").startswith("_EagerConst")
        or _is_penalty(request)
        or "AssignMovingAvg" in (request.node or request.op or "")
    )


def _is_penalty(request: FailedRequest) -> bool:
    """Whether it is a penalty's square of a weight, or its gradient: a matrix of very many rows, which the
    loss of a batch has not.
    """
    shape = request.shape or ()
    name = request.node or request.op or ""
    return len(shape) == 2 and (shape[0] or 0) >= _POSITIONS and is_penalty(name)


def _batch(request: FailedRequest, owner: Owner) -> int | None:
    shape = request.shape
    if request.kind is not RequestKind.TENSOR or not shape or len(shape) < 2 or not all(shape):
        return None
    if owner.kind is Kind.LAYOUT_TRANSPOSE:
        return shape[0]
    if request.is_operand:
        return _batch(replace(request, shape=shape[1:]), owner)  # one matrix as a batch of one
    if owner.kind in (Kind.WORKSPACE, Kind.LOOP_STACK) or of_weights(request.node):
        return None
    fed = _fed(request)
    if len(shape) == 2 and (shape[0] or 0) >= _POSITIONS and fed == shape[0]:
        return None
    if fed is not None:
        return fed if (shape[0] or 0) % fed == 0 else None
    return shape[0] if _has_batch_first(request, owner, shape) else None


def _fed(request: FailedRequest) -> int | None:
    """The first dimension that all tensors have which the layer was called with."""
    first = {
        argument.shape[0] for argument in request.arguments if len(argument.shape) >= 2 and argument.shape[0]
    }
    return first.pop() if len(first) == 1 else None


def _has_batch_first(request: FailedRequest, owner: Owner, shape: tuple[int | None, ...]) -> bool:
    name = request.node or request.op or ""
    if _NOT_BATCHED.search(name) or sides_of_an_image(shape):
        return False
    if _are_pictures(shape) and not like_a_kernel(shape):
        return True
    if len(shape) == 2 and ((shape[1] or 0) >= _WIDE or (shape[0] or 0) >= _POSITIONS):
        return False
    op = owner.op or request.op or _named_op(name)
    if owner.phase is Phase.GRADIENT and len(shape) == 2:
        return False  # as likely the gradient of a kernel
    source = (request.kernel or "").rpartition("/")[2].partition(".")[0]
    convolves = (op is not None and op.endswith("Conv2D")) or source.startswith("conv_ops")
    of_one = len(shape) == 4 and shape[2:] == (1, 1) and (shape[0] or 0) >= _UNITS
    if convolves and (of_one or like_a_turned_kernel(shape)):
        return False  # cuDNN's copy of the kernel, or small maps
    if op and _LAYERS.fullmatch(op):
        return True
    if like_a_kernel(shape) and source != "concat_op":
        return False
    if op and not _ELEMENTWISE.fullmatch(op):
        return False
    if op:
        in_a_layer = bool(request.keras_layer or "/" in name)
        return len(shape) >= 4 or (len(shape) == 3 and in_a_layer)
    return bool(_KERNELS.fullmatch(source)) or (not source and _is_feature_map(shape))


def _are_pictures(shape: tuple[int | None, ...]) -> bool:
    """Whether a shape is that of pictures in three colours, which stand last or behind the batch."""
    if len(shape) != 4:
        return False
    ways = (shape[2:] if shape[1] == _RGB else (), shape[1:3] if shape[3] == _RGB else ())
    sides = next(filter(None, ways), ())
    return len(sides) == 2 and all((side or 0) >= _LEAST_PICTURE for side in sides)


_RGB, _LEAST_PICTURE = 3, 16


def _named_op(name: str) -> str | None:
    """The op that a name ends with, None where the user named it himself."""
    last = _UNIQUE.sub("", name.rpartition("/")[2])
    return last if last in words.OPS or last in words.FUNCTION_SCOPES else None


def _is_feature_map(shape: tuple[int | None, ...]) -> bool:
    """Whether a shape alone is an image-like one: two long sides beside channels."""
    return len(shape) == 4 and sum((size or 1) >= _LONG_SIDE for size in shape[1:]) >= 2
