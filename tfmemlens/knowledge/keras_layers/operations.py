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


def _elementwise(asked: LayerCall) -> LayerSpecs:
    values = [
        value
        for key, value in asked.arguments.items()
        if key.isdigit() or key in ("x", "y", "x1", "x2", "a", "b", "condition")
    ]
    shapes = [each.shape for value in values for each in tensors(value) if each.shape is not None]
    shapes += [constant_shape(value) for value in values]
    return asked.told(broadcast(shapes or [asked.shape]), dtype=dtype_of(asked))


def _reduce(asked: LayerCall) -> LayerSpecs:
    axis, keep = (
        argument(asked, 1, "axis", "dim"),
        bool(argument(asked, 2, "keepdims", "keep_dims", default=False)),
    )
    shape = asked.shape
    gone = set(range(len(shape))) if axis is None else set(axes_of(axis, len(shape)))
    return _without(asked, gone, keep)


def _without(asked: LayerCall, gone: Collection[int], keep: bool) -> LayerSpecs:
    """The input's shape without these dimensions, or with 1 in their place."""
    return asked.told(
        [1 if at in gone else size for at, size in enumerate(asked.shape) if keep or at not in gone],
        dtype=dtype_of(asked),
    )


def _argmax(asked: LayerCall) -> LayerSpecs:
    """Without an axis NumPy and Keras 3 look at all elements, TensorFlow along the first dimension."""
    axis = argument(asked, 1, "axis", default=None if asked.dialect == "keras-3" else 0)
    gone = range(len(asked.shape)) if axis is None else axes_of(axis, len(asked.shape))
    return _without(asked, gone, keep=bool(argument(asked, 2, "keepdims", default=False)))


def _matmul(asked: LayerCall) -> LayerSpecs:
    pair = [
        each.shape or ()
        for each in tensors([argument(asked, 0, "x1", "a"), argument(asked, 1, "x2", "b", "y")])
    ]
    if len(pair) != 2 or min(map(len, pair)) < 2:
        raise UnsupportedLayer("it multiplies by something that the file does not describe")
    first, second = (list(shape) for shape in pair)
    if asked.arguments.get("transpose_a"):
        first[-2:] = first[:-3:-1]
    if asked.arguments.get("transpose_b"):
        second[-2:] = second[:-3:-1]
    return asked.told(
        [*broadcast([tuple(first[:-2]), tuple(second[:-2])]), first[-2], second[-1]], dtype=dtype_of(asked)
    )


def _dot(asked: LayerCall) -> LayerSpecs:
    """NumPy's: the last dimension of the first with the second-last of the second; all others stay."""
    first, second = argument(asked, 0, "x1"), argument(asked, 1, "x2")
    left = first.shape if isinstance(first, TensorType) else constant_shape(first)
    right = second.shape if isinstance(second, TensorType) else constant_shape(second)
    if not left or not right:
        raise UnsupportedLayer("it multiplies by something that the file does not describe")
    return asked.told(
        [*left[:-1], *right[:-2], *right[-1:]] if len(right) > 1 else left[:-1], dtype=dtype_of(asked)
    )


def _einsum(asked: LayerCall) -> LayerSpecs:
    equation = str(
        asked.get("subscripts", "equation") or argument(asked, 0, "equation", "subscripts")
    ).replace(" ", "")
    if "->" not in equation or "." in equation:
        raise UnsupportedLayer("its equation leaves the output open")
    left, _, output = equation.partition("->")
    read = left.split(",")
    if [len(letters) for letters in read] != [len(each.shape or ()) for each in asked.inputs]:
        raise UnsupportedLayer(f"its equation is {equation!r}, and it reads other tensors")
    known = {
        letter: size
        for letters, each in zip(read, asked.inputs, strict=True)
        for letter, size in zip(letters, each.shape or (), strict=True)
    }
    if not known.keys() >= set(output):
        raise UnsupportedLayer(f"its equation is {equation!r}")
    return asked.told([known[letter] for letter in output], dtype=dtype_of(asked))


def _cast(asked: LayerCall) -> LayerSpecs:
    return asked.told(asked.shape, dtype=numpy_dtype(str(argument(asked, 1, "dtype", default="float32"))))


def _shape(asked: LayerCall) -> LayerSpecs:
    return asked.told([len(asked.shape)], dtype="int32")


def _resize(asked: LayerCall) -> LayerSpecs:
    height, width = tuple_of(needed(asked, 1, "size"), 2, "size")
    return asked.told([*asked.sides(3)[:-3], height, width, asked.shape[-1]], dtype="float32")


def _top_k(asked: LayerCall) -> LayerSpecs:
    shape = (*asked.sides(1)[:-1], whole(argument(asked, 1, "k", default=1), "k"))
    return LayerSpecs((TensorType(shape, dtype_of(asked)), TensorType(shape, "int32")))


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
}


def is_operation(asked: LayerCall) -> bool:
    """Whether this is an op rather than a layer: they share some names."""
    return "ops" in (asked.spec.module or "").split(".") or asked.spec.class_name in (
        "TFOpLambda",
        "SlicingOpLambda",
    )


def rule(asked: LayerCall) -> LayerSpecs:
    """What an op makes. Raises UnsupportedLayer."""
    name = name_of(asked)
    if name not in _OPS:
        raise UnsupportedLayer(
            f"what {asked.config.get('function') or asked.spec.class_name} makes is not known without"
            " TensorFlow"
        )
    return _OPS[name](asked)


__all__ = ["is_operation", "name_of", "rule"]
