"""One rule an op: from the types of its inputs to the shapes of its outputs. After the shape functions in TensorFlow's core/ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tfmemlens.model.graph import Node
from tfmemlens.model.tensor import TensorType

Dims = tuple["int | None", ...]
Shape = Dims | None


@dataclass(frozen=True)
class Site:
    """A node with what is known of its inputs: types, and the values of whole-number vectors (None inside: an element that is not known)."""

    node: Node
    inputs: list[TensorType]
    values: list[Dims | None]
    feed: Dims = ()
    open_feeds: bool = False

    def shape(self, index: int) -> Shape:
        """The shape of an input, None where the rank is unknown."""
        return self.inputs[index].shape if index < len(self.inputs) else None

    def value(self, index: int) -> Dims | None:
        """The numbers in an input, None where they are not known."""
        return self.values[index] if index < len(self.values) else None

    def numbers(self, name: str) -> list[int]:
        """A list attribute of whole numbers, empty where it is missing."""
        found = self.node.attributes.get(name)
        return [each for each in found if isinstance(each, int)] if isinstance(found, tuple) else []

    def number(self, name: str, default: int = 0) -> int:
        """A whole-number attribute."""
        found = self.node.attributes.get(name)
        return found if isinstance(found, int) else default

    def text(self, name: str, default: str = "") -> str:
        """A text attribute."""
        found = self.node.attributes.get(name)
        return found if isinstance(found, str) else default

    @property
    def layout(self) -> str:
        """`NHWC`, `NCHW`, `NDHWC` or `NCDHW`."""
        return self.text("data_format") or ("NDHWC" if "3D" in self.node.op else "NHWC")


Rule = Callable[[Site], "list[Shape]"]
RULES: dict[str, Rule] = {}


def _rule(*ops: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys((name for text in ops for name in text.split()), rule))
        return rule

    return register


def dtypes_of(site: Site, count: int) -> list[str | None]:
    """The dtype of each output."""
    node = site.node
    if node.op in _BOOLEAN:
        return ["bool"] * count
    if node.op in ("Shape", "ShapeN", "Size", "Rank", "ConcatOffset"):
        return [_stated(node, "out_type") or "int32"] * count
    listed = next((found for name in ("component_types", "output_types", "Tout", "dtypes") if isinstance(found := node.attributes.get(name), tuple)), None)
    if listed is not None:
        kinds = [each if isinstance(each, str) else None for each in listed]
        return (kinds + [None] * count)[:count]
    names = ("DstT", "dtype", "tensor_type", "output_type", "out_type", "T", "Tparams")
    first = next((found for name in names if (found := _stated(node, name))), None)
    if first is None and site.inputs and node.op in _PASSING:
        first = site.inputs[0].dtype
    rest = _stated(node, "U") or first
    return [first, *[rest if "BatchNorm" in node.op and "Grad" not in node.op else first] * (count - 1)]


def _stated(node: Node, name: str) -> str | None:
    found = node.attributes.get(name)
    return found if isinstance(found, str) else None


_BOOLEAN = frozenset("Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot IsNan IsInf IsFinite ApproximateEqual All Any".split())
_PASSING = frozenset("Identity Enter RefEnter Exit NextIteration Switch Merge StopGradient PreventGradient IdentityN".split())


@_rule("Placeholder PlaceholderV2 _Arg")
def _feed(site: Site) -> list[Shape]:
    if site.open_feeds:
        return [None]
    shape = site.node.attributes.get("shape")
    if not isinstance(shape, tuple):
        return [fed(None, site.feed)]
    if shape == () and site.node.outputs and site.node.outputs[0].shape != ():
        return [site.node.outputs[0].shape]  # a shape that was not stated reads as a scalar in old graphs
    return [fed(shape, site.feed)]


@_rule("VariableV2 Variable VarHandleOp TemporaryVariable")
def _variable(site: Site) -> list[Shape]:
    shape = site.node.attributes.get("shape")
    return [shape if isinstance(shape, tuple) else None]


@_rule("Const HostConst")
def _constant(site: Site) -> list[Shape]:
    value = site.node.attributes.get("value")
    return [value.shape if isinstance(value, TensorType) else None]


@_rule("PlaceholderWithDefault")
def _default(site: Site) -> list[Shape]:
    if site.open_feeds:
        return [None]
    shape = site.node.attributes.get("shape")
    return [shape if isinstance(shape, tuple) and shape else None]


@_rule("IteratorGetNext IteratorGetNextSync InfeedDequeueTuple")
def _dataset(site: Site) -> list[Shape]:
    found = site.node.attributes.get("output_shapes") or site.node.attributes.get("shapes")
    shapes = found if isinstance(found, tuple) else ()
    return [fed(each, site.feed) for each in shapes]


def fed(shape: Shape, feed: Dims) -> Shape:
    """A feed's shape with its open dimensions as the user states them: all of them where the ranks agree, else the first."""
    if not feed:
        return shape
    if shape is None:
        return feed if len(feed) > 1 else None
    if len(shape) == len(feed) and all(None in pair or pair[0] == pair[1] for pair in zip(shape, feed, strict=True)):
        return tuple(own if own is not None else stated for own, stated in zip(shape, feed, strict=True))
    return (feed[0], *shape[1:]) if shape and shape[0] is None else shape


@_rule(
    """Abs Acos Acosh Angle Asin Asinh Atan Atanh Bitcast Cast Ceil CheckNumerics ComplexAbs Conj Cos Cosh Digamma Elu Enter RefEnter Erf Erfc Exit Exp
    Expm1 Floor GuaranteeConst Identity Imag Inv IsFinite IsInf IsNan Lgamma Log LogicalNot Log1p Neg NextIteration OnesLike PreventGradient Real
    Reciprocal Relu Relu6 Rint Selu Sigmoid Sign Sin Sinh Snapshot Softplus Softsign Round Rsqrt Sqrt Square StopGradient Tan Tanh ZerosLike LeakyRelu
    Softmax LogSoftmax BiasAdd BiasAddV1 ReverseV2 MirrorPadIdentity EnsureShape _Recv _HostRecv Cumsum Cumprod FakeQuantWithMinMaxArgs
    FakeQuantWithMinMaxVars QuantizeAndDequantizeV2 ClipByValue CopyFromGpuToHost _CopyFromGpuToHost CopyFromHostToGpu _CopyFromHostToGpu
    ReluGrad Relu6Grad EluGrad SeluGrad SigmoidGrad TanhGrad SoftplusGrad SoftsignGrad RsqrtGrad SqrtGrad ReciprocalGrad InvGrad LeakyReluGrad
    Assign AssignAdd AssignSub Invert InvertPermutation RandomShuffle Debug Print"""
)
def _same(site: Site) -> list[Shape]:
    return [next((each.shape for each in site.inputs if each.bytes is not None), site.shape(0)) if site.node.op.endswith("Grad") else site.shape(0)]


@_rule("ReadVariableOp")
def _read(site: Site) -> list[Shape]:
    """A VarHandleOp tells its variable's shape; a handle that is passed in tells only its own."""
    return [None if site.inputs and site.inputs[0].dtype == "resource" else site.shape(0)]


@_rule("LRN LRNGrad")
def _image_like(site: Site) -> list[Shape]:
    return [site.shape(0) or (None,) * 4]


@_rule("IdentityN")
def _each(site: Site) -> list[Shape]:
    return [each.shape for each in site.inputs]


@_rule("Switch RefSwitch")
def _switch(site: Site) -> list[Shape]:
    return [site.shape(0), site.shape(0)]


@_rule("Merge RefMerge")
def _merge(site: Site) -> list[Shape]:
    return [next((each.shape for each in site.inputs if each.shape is not None), None), ()]


@_rule(
    """Add AddV2 Sub Mul Div RealDiv FloorDiv TruncateDiv DivNoNan MulNoNan Mod FloorMod Pow Maximum Minimum SquaredDifference Atan2 Complex Igamma Igammac
    Zeta Polygamma Xdivy Xlogy Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr ApproximateEqual BitwiseAnd BitwiseOr"""
)
def _broadcast(site: Site) -> list[Shape]:
    return [broadcast([site.shape(0), site.shape(1)])]


@_rule("Select SelectV2")
def _select(site: Site) -> list[Shape]:
    branches = [site.shape(1), site.shape(2)]
    return [broadcast([site.shape(0), *branches]) if site.node.op == "SelectV2" else next((each for each in branches if each is not None), None)]


@_rule("AddN AccumulateNV2")
def _sum_of(site: Site) -> list[Shape]:
    return [next((each.shape for each in site.inputs if each.bytes is not None), site.shape(0))]


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """NumPy's rule; an unknown dimension beside a known one that is not 1 must equal it."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    sides = zip(*[(1,) * (rank - len(shape)) + shape for shape in known], strict=True)
    return tuple(next((each for each in side if each is not None and each != 1), None if None in side else 1) for side in sides)


@_rule("Conv2D Conv3D DepthwiseConv2dNative _FusedConv2D _FusedConv3D FusedConv2DBiasActivation _FusedDepthwiseConv2dNative")
def _convolution(site: Site) -> list[Shape]:
    image, kernel = site.shape(0) or _image(site), site.shape(1)
    if kernel is None or len(image) != len(kernel) or len(image) != len(site.layout):
        return [_image(site)]
    filters = kernel[-1] if "Depthwise" not in site.node.op else None if kernel[-1] is None or kernel[-2] is None else kernel[-1] * kernel[-2]
    return [_windows(site, image, kernel[: len(kernel) - 2], filters)]


@_rule("MaxPool AvgPool MaxPool3D AvgPool3D MaxPoolWithArgmax")
def _pool(site: Site) -> list[Shape]:
    image = site.shape(0)
    if image is None or len(image) != len(site.layout):
        return [_image(site), _image(site)]
    sizes = site.numbers("ksize")
    window = [sizes[at] for at, letter in enumerate(site.layout) if letter in "DHW"]
    found = _windows(site, image, window, image[site.layout.index("C")])
    return [found, found]


def _image(site: Site) -> Dims:
    """An image of which only the rank is known."""
    return (None,) * len(site.layout)


def _windows(site: Site, image: Dims, window: Sequence[int | None], channels: int | None) -> Dims:
    """The grid of a sliding window."""
    strides, dilations, pads = site.numbers("strides"), site.numbers("dilations"), site.numbers("explicit_paddings")
    padding, layout = site.text("padding", "SAME"), site.layout
    found: list[int | None] = list(image)
    for step, at in enumerate(index for index, letter in enumerate(layout) if letter in "DHW"):
        size, extent, stride = image[at], window[step], strides[at]
        dilation = dilations[at] if len(dilations) > at else 1
        if size is None or (extent is None and padding != "SAME"):
            found[at] = None
        elif padding == "SAME":
            found[at] = -(-size // stride)
        else:
            around = sum(pads[2 * at : 2 * at + 2]) if padding == "EXPLICIT" else 0
            found[at] = (size + around - ((extent or 1) - 1) * dilation - 1) // stride + 1
    found[layout.index("C")] = channels
    return tuple(found)


@_rule(
    """Conv2DBackpropInput DepthwiseConv2dNativeBackpropInput Conv3DBackpropInputV2 AvgPoolGrad AvgPool3DGrad RandomUniform RandomStandardNormal
    TruncatedNormal RandomUniformInt Fill Empty StatelessRandomUniform StatelessRandomUniformV2 StatelessRandomNormal StatelessRandomNormalV2
    StatelessTruncatedNormal StatelessTruncatedNormalV2 ParameterizedTruncatedNormal"""
)
def _stated_by_first(site: Site) -> list[Shape]:
    return [site.value(0) or (_image(site) if "Backprop" in site.node.op or "Pool" in site.node.op else site.value(0))]


@_rule("Conv2DBackpropFilter DepthwiseConv2dNativeBackpropFilter Conv3DBackpropFilterV2 BroadcastTo")
def _stated_by_second(site: Site) -> list[Shape]:
    return [site.value(1) or (_image(site) if "Backprop" in site.node.op else site.value(1))]


@_rule("StridedSliceGrad")
def _unsliced(site: Site) -> list[Shape]:
    return [site.value(0)]


@_rule("Reshape")
def _reshape(site: Site) -> list[Shape]:
    wanted, given = site.value(1), site.shape(0)
    if wanted is None:
        return [None]
    if -1 not in wanted:
        return [wanted]
    total = math.prod(each for each in given if each is not None) if given is not None and None not in given else None
    rest = math.prod(each for each in wanted if each is not None and each != -1)
    open_side = total // rest if total is not None and None not in wanted and rest else None
    return [tuple(open_side if each == -1 else each for each in wanted)]


@_rule("MaxPoolGrad MaxPoolGradV2 MaxPool3DGrad MaxPoolGradWithArgmax")
def _like_first(site: Site) -> list[Shape]:
    return [site.shape(0) or _image(site)]


@_rule("ResizeBilinearGrad ResizeBicubicGrad")
def _like_second(site: Site) -> list[Shape]:
    return [site.shape(1) or (None,) * 4]


@_rule("ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea ResizeNearestNeighborGrad")
def _resize(site: Site) -> list[Shape]:
    image, size = site.shape(0) or (None,) * 4, site.value(1)
    if len(image) != 4:
        return [None]
    return [(image[0], *(size if size and len(size) == 2 else (None, None)), image[3])]


@_rule("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx")
def _norm(site: Site) -> list[Shape]:
    return [site.shape(0) or _image(site), *[site.shape(1)] * (5 if site.node.op in ("FusedBatchNormV3", "_FusedBatchNormEx") else 4)]


@_rule("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 _FusedBatchNormGradEx")
def _norm_gradient(site: Site) -> list[Shape]:
    whole = site.shape(0) if site.inputs and site.inputs[0].bytes is not None else site.shape(1)
    return [whole or _image(site), site.shape(2), site.shape(2), (0,), (0,)]


@_rule("BiasAddGrad")
def _bias_gradient(site: Site) -> list[Shape]:
    shape = site.shape(0)
    return [None if shape is None else (shape[1 if site.layout.startswith("NC") else -1],)]


@_rule("ConcatV2 Concat")
def _concat(site: Site) -> list[Shape]:
    first = 1 if site.node.op == "Concat" else 0
    count = site.number("N", len(site.inputs) - 1)
    axis = site.value(0 if first else count)
    parts = [site.shape(index) for index in range(first, first + count)]
    known = [part for part in parts if part is not None]
    if not known or axis is None or axis[0] is None:
        return [None]
    at = axis[0] % len(known[0])
    sides = [part[at] for part in known]
    whole = sum(side or 0 for side in sides) if len(known) == len(parts) and None not in sides else None
    return [tuple(whole if index == at else next((part[index] for part in known if part[index] is not None), None) for index in range(len(known[0])))]


@_rule("Split")
def _split(site: Site) -> list[Shape]:
    count = site.number("num_split", 1)
    shape, axis = site.shape(1), site.value(0)
    if shape is None or axis is None or axis[0] is None:
        return [None] * count
    at = axis[0] % len(shape)
    side = shape[at]
    return [(*shape[:at], None if side is None else side // count, *shape[at + 1 :])] * count


@_rule("SplitV")
def _split_sizes(site: Site) -> list[Shape]:
    shape, sizes, axis = site.shape(0), site.value(1), site.value(2)
    if shape is None or sizes is None or axis is None or axis[0] is None:
        return [None] * site.number("num_split", 1)
    at = axis[0] % len(shape)
    return [(*shape[:at], None if size == -1 else size, *shape[at + 1 :]) for size in sizes]


@_rule("Pad PadV2 MirrorPad MirrorPadGrad")
def _pad(site: Site) -> list[Shape]:
    shape, around = site.shape(0), site.value(1)
    if shape is None:
        return [None]
    if around is None or len(around) != 2 * len(shape):
        return [(None,) * len(shape)]
    sign = -1 if site.node.op == "MirrorPadGrad" else 1
    pairs = zip(shape, around[::2], around[1::2], strict=True)
    return [tuple(None if None in (side, low, high) else (side or 0) + sign * ((low or 0) + (high or 0)) for side, low, high in pairs)]


@_rule("Tile")
def _tile(site: Site) -> list[Shape]:
    shape, times = site.shape(0), site.value(1)
    if shape is None or times is None:
        return [None if shape is None else (None,) * len(shape)]
    return [tuple(None if side is None or count is None else side * count for side, count in zip(shape, times, strict=True))]


@_rule("Slice")
def _slice(site: Site) -> list[Shape]:
    shape, begin, size = site.shape(0), site.value(1), site.value(2)
    if size is None:
        return [None if shape is None else (None,) * len(shape)]
    starts = begin or (None,) * len(size)
    sides = shape or (None,) * len(size)
    return [
        tuple((None if side is None or low is None else side - low) if count == -1 else count for side, low, count in zip(sides, starts, size, strict=True))
    ]


@_rule("StridedSlice")
def _strided_slice(site: Site) -> list[Shape]:
    shape = site.shape(0)
    if shape is None:
        return [None]
    if site.number("ellipsis_mask"):
        return [None]
    begin, end, steps = (site.value(index) for index in (1, 2, 3))
    count = len(begin or end or steps or ())
    new, shrink = site.number("new_axis_mask"), site.number("shrink_axis_mask")
    found: list[int | None] = []
    at = 0
    for index in range(count):
        bit = 1 << index
        if new & bit:
            found.append(1)
            continue
        side, at = shape[at], at + 1
        if not shrink & bit:
            found.append(_range(side, begin, end, steps, index, site))
    return [(*found, *shape[at:])]


def _range(side: int | None, begin: Dims | None, end: Dims | None, steps: Dims | None, index: int, site: Site) -> int | None:
    low = None if site.number("begin_mask") >> index & 1 else (begin or {index: None})[index]
    high = None if site.number("end_mask") >> index & 1 else (end or {index: None})[index]
    unknown = (low is None and not site.number("begin_mask") >> index & 1) or (high is None and not site.number("end_mask") >> index & 1)
    step = steps[index] if steps else None
    return None if side is None or unknown or not step else len(range(side)[slice(low, high, step)])


@_rule("Mean Sum Max Min Prod All Any")
def _reduce(site: Site) -> list[Shape]:
    shape, axes = site.shape(0), site.value(1)
    if shape is None:
        return [None]
    keep = bool(site.node.attributes.get("keep_dims") or site.node.attributes.get("keepdims"))
    if axes is None:
        return [(None,) * len(shape) if keep else None]
    gone = {axis % len(shape) for axis in axes if axis is not None}
    return [tuple(1 if index in gone else side for index, side in enumerate(shape) if keep or index not in gone)]


@_rule("ArgMax ArgMin")
def _best(site: Site) -> list[Shape]:
    shape, axis = site.shape(0), site.value(1)
    return [None if shape is None or axis is None or axis[0] is None else tuple(side for at, side in enumerate(shape) if at != axis[0] % len(shape))]


@_rule("Squeeze")
def _squeeze(site: Site) -> list[Shape]:
    shape, gone = site.shape(0), {axis % max(len(site.shape(0) or ()), 1) for axis in site.numbers("squeeze_dims")}
    return [None if shape is None else tuple(side for at, side in enumerate(shape) if (at not in gone if gone else side != 1))]


@_rule("ExpandDims")
def _expand(site: Site) -> list[Shape]:
    shape, axis = site.shape(0), site.value(1)
    if shape is None or axis is None or axis[0] is None:
        return [None]
    at = axis[0] % (len(shape) + 1)
    return [(*shape[:at], 1, *shape[at:])]


@_rule("Transpose ConjugateTranspose")
def _transpose(site: Site) -> list[Shape]:
    shape, order = site.shape(0), site.value(1)
    if shape is None:
        return [None if order is None else (None,) * len(order)]
    return [tuple(shape[at] if at is not None else None for at in order) if order is not None and len(order) == len(shape) else (None,) * len(shape)]


@_rule("MatMul _FusedMatMul SparseMatMul")
def _matmul(site: Site) -> list[Shape]:
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    turned = site.node.attributes.get("transpose_a"), site.node.attributes.get("transpose_b")
    return [(left[1 if turned[0] else 0], right[0 if turned[1] else 1])]


@_rule("BatchMatMul BatchMatMulV2 BatchMatMulV3")
def _batch_matmul(site: Site) -> list[Shape]:
    left, right = site.shape(0), site.shape(1)
    if left is None or right is None:
        return [None]
    outer = broadcast([left[:-2], right[:-2]])
    adjoint = site.node.attributes.get("adj_x"), site.node.attributes.get("adj_y")
    return [None if outer is None else (*outer, left[-1 if adjoint[0] else -2], right[-2 if adjoint[1] else -1])]


@_rule("SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits")
def _cross_entropy(site: Site) -> list[Shape]:
    logits = site.shape(0)
    return [None if logits is None else logits[:1], logits]


@_rule("L2Loss Size Rank")
def _scalar(site: Site) -> list[Shape]:
    del site
    return [()]


@_rule("Shape")
def _shape(site: Site) -> list[Shape]:
    shape = site.shape(0)
    return [(None if shape is None else len(shape),)]


@_rule("ShapeN")
def _shapes(site: Site) -> list[Shape]:
    return [(None if each.shape is None else len(each.shape),) for each in site.inputs]


@_rule("Pack")
def _pack(site: Site) -> list[Shape]:
    shape = site.shape(0)
    if shape is None:
        return [None]
    at = site.number("axis") % (len(shape) + 1)
    return [(*shape[:at], len(site.inputs), *shape[at:])]


@_rule("Unpack")
def _unpack(site: Site) -> list[Shape]:
    shape, count = site.shape(0), site.number("num", 1)
    at = site.number("axis") % max(len(shape or ()), 1)
    return [None if shape is None else (*shape[:at], *shape[at + 1 :])] * count


@_rule("GatherV2 Gather ResourceGather")
def _gather(site: Site) -> list[Shape]:
    table, picked = site.shape(0), site.shape(1)
    axis = site.value(2) if len(site.inputs) > 2 else (0,)
    if table is None or picked is None or not axis or axis[0] is None:
        return [None]
    at = axis[0] % len(table)
    return [(*table[:at], *picked, *table[at + 1 :])]


@_rule("SpaceToDepth DepthToSpace")
def _blocks(site: Site) -> list[Shape]:
    shape, block = site.shape(0), site.number("block_size", 1)
    if shape is None or len(shape) != 4:
        return [None]
    found = list(shape)
    for at, letter in enumerate(site.layout):
        side = shape[at]
        if side is not None and letter != "N":
            times, over = (block * block, 1) if letter == "C" else (1, block)
            found[at] = side * times // over if site.node.op == "SpaceToDepth" else side * over // times
    return [tuple(found)]


@_rule("ExtractImagePatches")
def _patches(site: Site) -> list[Shape]:
    shape, sizes, strides, rates = site.shape(0), site.numbers("ksizes"), site.numbers("strides"), site.numbers("rates")
    if shape is None or len(shape) != 4:
        return [None]
    sides = []
    for at in (1, 2):
        side, extent = shape[at], (sizes[at] - 1) * rates[at] + 1
        sides.append(None if side is None else -(-side // strides[at]) if site.text("padding") == "SAME" else (side - extent) // strides[at] + 1)
    return [(shape[0], *sides, None if shape[3] is None else shape[3] * sizes[1] * sizes[2])]


@_rule("DataFormatVecPermute DataFormatDimMap")
def _mapped(site: Site) -> list[Shape]:
    return [site.shape(0)]


@_rule("Range DynamicStitch")
def _vector(site: Site) -> list[Shape]:
    del site
    return [(None,)]


@_rule("ConcatOffset")
def _offsets(site: Site) -> list[Shape]:
    return [each.shape for each in site.inputs[1:]]


@_rule("BroadcastGradientArgs")
def _axes(site: Site) -> list[Shape]:
    del site
    return [(None,), (None,)]
