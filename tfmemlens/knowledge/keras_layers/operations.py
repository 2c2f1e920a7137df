"""Ops that stand in a model like layers: Keras 3's `keras.ops`, Keras 2's TFOpLambda and SlicingOpLambda."""

from __future__ import annotations

from collections.abc import Collection

from tfmemlens.knowledge.keras_layers import rearranging
from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    LayerSpecs,
    Rule,
    UnsupportedLayer,
    broadcast,
    tuple_of,
    whole,
)
from tfmemlens.knowledge.keras_layers._operation import (
    COMPARE,
    argument,
    axes_of,
    constant_shape,
    dtype_of,
    name_of,
    needed,
    tensors,
)
from tfmemlens.model.tensor import TensorType, numpy_dtype

_REDUCE = set(
    "mean sum max min prod any all var std logsumexp amax amin variance euclideannorm norm countnonzero"
    " average median".split()
)
_ELEMENTWISE = set(
    """
        add addv2 addn subtract sub multiply mul divide truedivide truediv realdiv floordivide floordiv mod
        remainder power pow maximum minimum square sqrt rsqrt exp log log1p expm1 log2 log10 abs absolute
        negative neg sign sin cos tan tanh sinh cosh arctan arctan2 arcsin arccos erf erfinv sigmoid relu
        relu6 leakyrelu elu selu gelu silu swish hardswish hardsigmoid hardtanh hardsilu softplus softsign
        softmax logsoftmax logsigmoid mish celu glu tanhshrink softshrink squareddifference clip clipbyvalue
        reciprocal ceil floor round rint where selectv2 identity stopgradient cumsum cumprod flip reverse roll
        normalize l2normalize nantonum zeroslike oneslike dropout biasadd xlogy logaddexp bitwiseand tril triu
        sort divnonan multiplynonan square batchnormalization layernormalization rmsnormalization
        preventgradient
    """.split()
)


def _elementwise(call: LayerCall) -> LayerSpecs:
    values = [
        value
        for key, value in call.arguments.items()
        if key.isdigit() or key in ("x", "y", "x1", "x2", "a", "b", "condition")
    ]
    shapes = [each.shape for value in values for each in tensors(value) if each.shape is not None]
    shapes += [constant_shape(value) for value in values]
    return call.specs(broadcast(shapes or [call.shape]), dtype=dtype_of(call))


def _reduce(call: LayerCall) -> LayerSpecs:
    axis, keep = (
        argument(call, 1, "axis", "dim"),
        bool(argument(call, 2, "keepdims", "keep_dims", default=False)),
    )
    shape = call.shape
    gone = set(range(len(shape))) if axis is None else set(axes_of(axis, len(shape)))
    return _without(call, gone, keep)


def _without(call: LayerCall, gone: Collection[int], keep: bool) -> LayerSpecs:
    """The input's shape without these dimensions, or with 1 in their place."""
    return call.specs(
        [1 if at in gone else size for at, size in enumerate(call.shape) if keep or at not in gone],
        dtype=dtype_of(call),
    )


def _argmax(call: LayerCall) -> LayerSpecs:
    """Without an axis NumPy and Keras 3 look at all elements, TensorFlow along the first dimension."""
    axis = argument(call, 1, "axis", default=None if call.dialect == "keras-3" else 0)
    gone = range(len(call.shape)) if axis is None else axes_of(axis, len(call.shape))
    return _without(call, gone, keep=bool(argument(call, 2, "keepdims", default=False)))


def _matmul(call: LayerCall) -> LayerSpecs:
    pair = [
        each.shape or ()
        for each in tensors([argument(call, 0, "x1", "a"), argument(call, 1, "x2", "b", "y")])
    ]
    if len(pair) != 2 or min(map(len, pair)) < 2:
        raise UnsupportedLayer("it multiplies by something that the file does not describe")
    first, second = (list(shape) for shape in pair)
    if call.arguments.get("transpose_a"):
        first[-2:] = first[:-3:-1]
    if call.arguments.get("transpose_b"):
        second[-2:] = second[:-3:-1]
    return call.specs(
        [*broadcast([tuple(first[:-2]), tuple(second[:-2])]), first[-2], second[-1]], dtype=dtype_of(call)
    )


def _dot(call: LayerCall) -> LayerSpecs:
    """NumPy's: the last dimension of the first with the second-last of the second; all others stay."""
    first, second = argument(call, 0, "x1"), argument(call, 1, "x2")
    left = first.shape if isinstance(first, TensorType) else constant_shape(first)
    right = second.shape if isinstance(second, TensorType) else constant_shape(second)
    if not left or not right:
        raise UnsupportedLayer("it multiplies by something that the file does not describe")
    return call.specs(
        [*left[:-1], *right[:-2], *right[-1:]] if len(right) > 1 else left[:-1], dtype=dtype_of(call)
    )


def _einsum(call: LayerCall) -> LayerSpecs:
    equation = str(call.get("subscripts", "equation") or argument(call, 0, "equation", "subscripts")).replace(
        " ", ""
    )
    if "->" not in equation or "." in equation:
        raise UnsupportedLayer("its equation leaves the output open")
    left, _, output = equation.partition("->")
    read = left.split(",")
    if [len(letters) for letters in read] != [len(each.shape or ()) for each in call.inputs]:
        raise UnsupportedLayer(f"its equation is {equation!r}, and it reads other tensors")
    known = {
        letter: size
        for letters, each in zip(read, call.inputs, strict=True)
        for letter, size in zip(letters, each.shape or (), strict=True)
    }
    if not known.keys() >= set(output):
        raise UnsupportedLayer(f"its equation is {equation!r}")
    return call.specs([known[letter] for letter in output], dtype=dtype_of(call))


def _cast(call: LayerCall) -> LayerSpecs:
    return call.specs(call.shape, dtype=numpy_dtype(str(argument(call, 1, "dtype", default="float32"))))


def _shape(call: LayerCall) -> LayerSpecs:
    return call.specs([len(call.shape)], dtype="int32")


def _resize(call: LayerCall) -> LayerSpecs:
    height, width = tuple_of(needed(call, 1, "size"), 2, "size")
    return call.specs([*call.sides(3)[:-3], height, width, call.shape[-1]], dtype="float32")


def _depth_to_space(call: LayerCall) -> LayerSpecs:
    """Channels become positions; of its inverse positions become channels."""
    block = whole(needed(call, 1, "block_size"), "block_size")
    first, height, width, channels = call.sides(4)[-4:]
    if height is None or width is None or channels is None:
        raise UnsupportedLayer("a side that it moves is open")
    if name_of(call) == "spacetodepth":
        return call.specs([first, height // block, width // block, channels * block**2], dtype=dtype_of(call))
    return call.specs([first, height * block, width * block, channels // block**2], dtype=dtype_of(call))


def _segments(call: LayerCall) -> LayerSpecs:
    """One row for each of so many segments."""
    count = whole(needed(call, 2, "num_segments"), "num_segments")
    return call.specs([count, *call.shape[1:]], dtype=dtype_of(call))


def _top_k(call: LayerCall) -> LayerSpecs:
    shape = (*call.sides(1)[:-1], whole(argument(call, 1, "k", default=1), "k"))
    return LayerSpecs((TensorType(shape, dtype_of(call)), TensorType(shape, "int32")))


_OPS: dict[str, Rule] = {
    **rearranging.RULES,
    **dict.fromkeys(COMPARE | _ELEMENTWISE, _elementwise),
    **dict.fromkeys(_REDUCE, _reduce),
    **dict.fromkeys(("argmax", "argmin"), _argmax),
    **dict.fromkeys(("matmul", "batchmatmul"), _matmul),
    **dict.fromkeys(("resize", "resizebilinear"), _resize),
    "dot": _dot,
    "argsort": _elementwise,
    "einsum": _einsum,
    "cast": _cast,
    "shape": _shape,
    "topk": _top_k,
    **dict.fromkeys(("depthtospace", "spacetodepth"), _depth_to_space),
    **dict.fromkeys([f"unsortedsegment{kind}" for kind in ("sum", "max", "min", "mean", "prod")], _segments),
}


def is_operation(call: LayerCall) -> bool:
    """Whether this is an op rather than a layer: they share some names."""
    return "ops" in (call.spec.module or "").split(".") or call.spec.class_name in (
        "TFOpLambda",
        "SlicingOpLambda",
    )


def rule(call: LayerCall) -> LayerSpecs:
    """What an op makes. Raises UnsupportedLayer."""
    name = name_of(call)
    if name not in _OPS:
        raise UnsupportedLayer(
            f"what {call.config.get('function') or call.spec.class_name} makes is not known without"
            " TensorFlow"
        )
    return _OPS[name](call)


__all__ = ["is_operation", "name_of", "rule"]
