"""Ops that stand in a model like layers: Keras 3's `keras.ops`, Keras 2's TFOpLambda and SlicingOpLambda."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from tfmemlens.costs.layers._kit import Asked, Shape, Told, Unknown, broadcast, product
from tfmemlens.costs.layers.merging import concatenated
from tfmemlens.model.tensor import TensorType, numpy_dtype

_COMPARE = set("equal notequal greater greaterequal less lessequal logicaland logicalor logicalnot isnan isfinite isinf isclose".split())
_TRUTH = {"all", "any"}
_PLACES = {"argmax", "argmin", "argsort", "countnonzero"}
"""Ops that make numbers of elements, whatever they read."""
_REDUCE = set("mean sum max min prod any all var std logsumexp amax amin variance euclideannorm norm countnonzero average median".split())
_ELEMENTWISE = set(
    "add addv2 addn subtract sub multiply mul divide truedivide truediv realdiv floordivide floordiv mod remainder power pow maximum minimum square sqrt rsqrt exp log log1p expm1 "
    "log2 log10 abs absolute negative neg sign sin cos tan tanh sinh cosh arctan arctan2 arcsin arccos erf erfinv sigmoid relu relu6 leakyrelu elu selu gelu silu swish "
    "hardswish hardsigmoid hardtanh hardsilu softplus softsign softmax logsoftmax logsigmoid mish celu glu tanhshrink softshrink squareddifference clip clipbyvalue "
    "reciprocal ceil floor round rint where selectv2 identity stopgradient cumsum cumprod flip reverse roll normalize l2normalize nantonum zeroslike oneslike dropout "
    "biasadd xlogy logaddexp bitwiseand tril triu sort divnonan multiplynonan square batchnormalization layernormalization rmsnormalization preventgradient".split()
)


def name_of(asked: Asked) -> str:
    """The op's name in lower case without underscores: `math.reduce_mean` and `Mean` are both `mean`."""
    raw = str(asked.config.get("function") or asked.spec.class_name)
    plain = raw.rpartition(".")[2].replace("_", "").lower()
    return plain.removeprefix("reduce") if plain.startswith("reduce") else plain


def argument(asked: Asked, position: int, *names: str, default: Any = None) -> Any:
    """A call argument by name or position, else the setting of that name."""
    for name in (*names, str(position)):
        if asked.arguments.get(name) is not None:
            return asked.arguments[name]
    return asked.get(*names, default=default) if names else default


def tensors(value: object) -> Iterator[TensorType]:
    """All tensors in nested arguments."""
    if isinstance(value, TensorType):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)


def _constant_shape(value: object) -> Shape:
    return (len(value), *_constant_shape(value[0])) if isinstance(value, list) and value and not list(tensors(value)) else ()


def _elementwise(asked: Asked) -> Told:
    values = [value for key, value in asked.arguments.items() if key.isdigit() or key in ("x", "y", "x1", "x2", "a", "b", "condition")]
    shapes = [each.shape for value in values for each in tensors(value) if each.shape is not None]
    shapes += [_constant_shape(value) for value in values]
    return asked.told(broadcast(shapes or [asked.shape]), dtype=_dtype(asked))


def _dtype(asked: Asked) -> str:
    if name_of(asked) in _COMPARE | _TRUTH:
        return "bool"
    if name_of(asked) in _PLACES:
        return "int32" if asked.dialect == "keras-3" or name_of(asked) == "argsort" else "int64"
    kinds = [each.dtype for each in asked.inputs if each.dtype]
    floats = [kind for kind in kinds if "float" in kind]
    return (floats or kinds or [asked.dtype])[0]


def _axes(value: Any, rank: int) -> list[int]:
    return [int(axis) % rank for axis in (value if isinstance(value, Sequence) else [value])]


def _reduce(asked: Asked) -> Told:
    axis, keep = argument(asked, 1, "axis", "dim"), bool(argument(asked, 2, "keepdims", "keep_dims", default=False))
    shape = asked.shape
    gone = set(range(len(shape))) if axis is None else set(_axes(axis, len(shape)))
    return _without(asked, gone, keep)


def _without(asked: Asked, gone: Collection[int], keep: bool) -> Told:
    """The input's shape without these dimensions, or with 1 in their place."""
    return asked.told([1 if at in gone else size for at, size in enumerate(asked.shape) if keep or at not in gone], dtype=_dtype(asked))


def _argmax(asked: Asked) -> Told:
    """Without an axis NumPy and Keras 3 look at all elements, TensorFlow along the first dimension."""
    axis = argument(asked, 1, "axis", default=None if asked.dialect == "keras-3" else 0)
    gone = range(len(asked.shape)) if axis is None else _axes(axis, len(asked.shape))
    return _without(asked, gone, keep=bool(argument(asked, 2, "keepdims", default=False)))


def _concatenate(asked: Asked) -> Told:
    return asked.told(
        concatenated([each.shape or () for each in tensors(argument(asked, 0, "values", "xs"))], int(argument(asked, 1, "axis", default=0))),
        dtype=_dtype(asked),
    )


def _hstack(asked: Asked) -> Told:
    return asked.told(concatenated([each.shape or () for each in tensors(argument(asked, 0, "xs"))], 1), dtype=_dtype(asked))


def _stack(asked: Asked) -> Told:
    parts = list(tensors(argument(asked, 0, "values", "x")))
    axis = int(argument(asked, 1, "axis", default=0)) % (len(asked.shape) + 1)
    return asked.told([*asked.shape[:axis], len(parts), *asked.shape[axis:]], dtype=_dtype(asked))


def _reshape(asked: Asked) -> Told:
    target = [None if isinstance(size, TensorType) else size for size in argument(asked, 1, "newshape", "shape")]
    whole = product(asked.shape)
    sizes: list[int | None] = [None if size in (-1, None) else int(size) for size in target]
    if sizes.count(None) == 1 and whole is not None:
        known = product([size for size in sizes if size is not None]) or 1
        sizes[sizes.index(None)] = whole // known
    elif sizes.count(None) > 1 and asked.shape[0] is not None and sizes[0] is None:
        sizes[0] = asked.shape[0]
    return asked.told(sizes, dtype=_dtype(asked))


def _transpose(asked: Asked) -> Told:
    axes = argument(asked, 1, "axes", "perm")
    order = _axes(axes, len(asked.shape)) if axes is not None else range(len(asked.shape))[::-1]
    return asked.told([asked.shape[axis] for axis in order], dtype=_dtype(asked))


def _swapaxes(asked: Asked) -> Told:
    one, two = (int(argument(asked, at, f"axis{at}")) % len(asked.shape) for at in (1, 2))
    shape = list(asked.shape)
    shape[one], shape[two] = shape[two], shape[one]
    return asked.told(shape, dtype=_dtype(asked))


def _moveaxis(asked: Asked) -> Told:
    rank = len(asked.shape)
    source, target = _axes(argument(asked, 1, "source"), rank), _axes(argument(asked, 2, "destination"), rank)
    order = [axis for axis in range(rank) if axis not in source]
    for where, which in sorted(zip(target, source, strict=True)):
        order.insert(where, which)
    return asked.told([asked.shape[axis] for axis in order], dtype=_dtype(asked))


def _expand(asked: Asked) -> Told:
    shape = list(asked.shape)
    for axis in sorted(_axes(argument(asked, 1, "axis", default=-1), len(shape) + 1)):
        shape.insert(axis, 1)
    return asked.told(shape, dtype=_dtype(asked))


def _squeeze(asked: Asked) -> Told:
    axis = argument(asked, 1, "axis")
    gone = _axes(axis, len(asked.shape)) if axis is not None and axis != [] else [at for at, size in enumerate(asked.shape) if size == 1]
    return asked.told([size for at, size in enumerate(asked.shape) if at not in gone], dtype=_dtype(asked))


def _matmul(asked: Asked) -> Told:
    pair = [each.shape or () for each in tensors([argument(asked, 0, "x1", "a"), argument(asked, 1, "x2", "b", "y")])]
    if len(pair) != 2 or min(map(len, pair)) < 2:
        raise Unknown("it multiplies by something that the file does not describe")
    first, second = (list(shape) for shape in pair)
    if asked.arguments.get("transpose_a"):
        first[-2:] = first[:-3:-1]
    if asked.arguments.get("transpose_b"):
        second[-2:] = second[:-3:-1]
    return asked.told([*broadcast([tuple(first[:-2]), tuple(second[:-2])]), first[-2], second[-1]], dtype=_dtype(asked))


def _dot(asked: Asked) -> Told:
    """NumPy's: the last dimension of the first with the second-last of the second; all others stay."""
    first, second = argument(asked, 0, "x1"), argument(asked, 1, "x2")
    left = first.shape if isinstance(first, TensorType) else _constant_shape(first)
    right = second.shape if isinstance(second, TensorType) else _constant_shape(second)
    if not left or not right:
        raise Unknown("it multiplies by something that the file does not describe")
    return asked.told([*left[:-1], *right[:-2], *right[-1:]] if len(right) > 1 else left[:-1], dtype=_dtype(asked))


def _einsum(asked: Asked) -> Told:
    equation = str(asked.get("subscripts", "equation") or argument(asked, 0, "equation", "subscripts")).replace(" ", "")
    if "->" not in equation or "." in equation:
        raise Unknown("its equation leaves the output open")
    left, output = equation.split("->")
    sizes: dict[str, int | None] = {}
    for letters, each in zip(left.split(","), asked.inputs, strict=True):
        sizes |= dict(zip(letters, each.shape or (), strict=True))
    return asked.told([sizes[letter] for letter in output], dtype=_dtype(asked))


def _getitem(asked: Asked) -> Told:
    spec = argument(asked, 1, "slice_spec", "key")
    parts = list(spec) if isinstance(spec, list | tuple) else [spec]
    if any(isinstance(part, TensorType) for part in parts):
        raise Unknown("it indexes by a computed tensor")
    if any(part is Ellipsis for part in parts):
        at = next(index for index, part in enumerate(parts) if part is Ellipsis)
        missing = len(asked.shape) - sum(part is not None and part is not Ellipsis for part in parts)
        parts[at : at + 1] = [slice(None)] * missing
    if sum(part is not None for part in parts) > len(asked.shape):
        raise Unknown("it has more indices than its input has dimensions")
    made: list[int | None] = []
    sizes = iter(asked.shape)
    for part in parts:
        if part is None:
            made.append(1)
            continue
        size = next(sizes)
        if isinstance(part, slice):
            made.append(_sliced(size, part))
    return asked.told([*made, *sizes], dtype=_dtype(asked))


def _sliced(size: int | None, part: slice) -> int | None:
    bounds = [each for each in (part.start, part.stop, part.step) if each is not None]
    if not all(isinstance(each, int) for each in bounds):
        return None
    if size is None:
        return None
    return len(range(*part.indices(size)))


def _split(asked: Asked) -> Told:
    sections, axis = argument(asked, 1, "indices_or_sections", "num_or_size_splits"), int(argument(asked, 2, "axis", default=0)) % len(asked.shape)
    size = asked.shape[axis]
    if isinstance(sections, int):
        parts: list[int | None] = [None if size is None else size // sections] * sections
    elif name_of(asked) == "split" and asked.dialect != "keras-3":
        parts = list(sections)
    else:
        marks = [0, *sections, size if size is not None else 0]
        parts = [end - start for start, end in pairwise(marks)]
    made = [TensorType((*asked.shape[:axis], part, *asked.shape[axis + 1 :]), _dtype(asked)) for part in parts]
    return Told(tuple(made))


def _unstack(asked: Asked) -> Told:
    axis = int(argument(asked, 1, "axis", default=0)) % len(asked.shape)
    one = TensorType((*asked.shape[:axis], *asked.shape[axis + 1 :]), _dtype(asked))
    return Told((one,) * int(argument(asked, 2, "num", default=asked.shape[axis]) or 1))


def _tile(asked: Asked) -> Told:
    counts = argument(asked, 1, "repeats", "multiples")
    return asked.told([None if size is None else size * int(count) for size, count in zip(asked.shape, counts, strict=True)], dtype=_dtype(asked))


def _repeat(asked: Asked) -> Told:
    count, axis = argument(asked, 1, "repeats"), argument(asked, 2, "axis")
    if not isinstance(count, int) or axis is None:
        raise Unknown("it repeats by numbers that the file does not tell")
    return asked.told(
        [size * count if size is not None and at == axis % len(asked.shape) else size for at, size in enumerate(asked.shape)], dtype=_dtype(asked)
    )


def _pad(asked: Asked) -> Told:
    width = argument(asked, 1, "pad_width", "paddings")
    sides = [(width, width)] * len(asked.shape) if isinstance(width, int) else [tuple(each) for each in width]
    return asked.told([None if size is None else size + sum(side) for size, side in zip(asked.shape, sides, strict=True)], dtype=_dtype(asked))


def _take(asked: Asked) -> Told:
    source, picked = argument(asked, 0, "params", "x"), argument(asked, 1, "indices")
    axis = argument(asked, 2, "axis", default=0)
    if not isinstance(source, TensorType) or source.shape is None:
        raise Unknown("it picks from a table that the file does not describe")
    shape = picked.shape if isinstance(picked, TensorType) else _constant_shape(picked)
    axis = int(axis) % len(source.shape)
    return asked.told([*source.shape[:axis], *(shape or ()), *source.shape[axis + 1 :]], dtype=source.dtype)


def _one_hot(asked: Asked) -> Told:
    shape, count = list(asked.shape), int(argument(asked, 1, "num_classes", "depth"))
    axis = int(argument(asked, 4, "axis", default=-1))
    shape.insert(len(shape) if axis == -1 else axis, count)
    return asked.told(shape, dtype=numpy_dtype(str(argument(asked, 9, "dtype", default="float32"))))


def _cast(asked: Asked) -> Told:
    return asked.told(asked.shape, dtype=numpy_dtype(str(argument(asked, 1, "dtype", default="float32"))))


def _shape(asked: Asked) -> Told:
    return asked.told([len(asked.shape)], dtype="int32")


def _broadcast_to(asked: Asked) -> Told:
    return asked.told([None if isinstance(size, TensorType) or size in (-1, None) else int(size) for size in argument(asked, 1, "shape")], dtype=_dtype(asked))


def _flatten(asked: Asked) -> Told:
    return asked.told([product(asked.shape)], dtype=_dtype(asked))


def _resize(asked: Asked) -> Told:
    height, width = argument(asked, 1, "size")
    return asked.told([*asked.shape[:-3], int(height), int(width), asked.shape[-1]], dtype="float32")


def _top_k(asked: Asked) -> Told:
    shape = (*asked.shape[:-1], int(argument(asked, 1, "k", default=1)))
    return Told((TensorType(shape, _dtype(asked)), TensorType(shape, "int32")))


_OPS: dict[str, Callable[[Asked], Told]] = {
    **dict.fromkeys(_COMPARE | _ELEMENTWISE, _elementwise),
    **dict.fromkeys(_REDUCE, _reduce),
    **dict.fromkeys(("argmax", "argmin"), _argmax),
    **dict.fromkeys(("concat", "concatenate", "concatv2"), _concatenate),
    **dict.fromkeys(("expanddims", "newaxis"), _expand),
    **dict.fromkeys(("matmul", "batchmatmul"), _matmul),
    **dict.fromkeys(("take", "gather", "embeddinglookup"), _take),
    **dict.fromkeys(("flatten", "ravel"), _flatten),
    **dict.fromkeys(("resize", "resizebilinear"), _resize),
    "stack": _stack,
    "hstack": _hstack,
    "dot": _dot,
    "argsort": _elementwise,
    "reshape": _reshape,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "moveaxis": _moveaxis,
    "squeeze": _squeeze,
    "einsum": _einsum,
    "getitem": _getitem,
    "split": _split,
    "unstack": _unstack,
    "tile": _tile,
    "repeat": _repeat,
    "pad": _pad,
    "onehot": _one_hot,
    "cast": _cast,
    "shape": _shape,
    "broadcastto": _broadcast_to,
    "topk": _top_k,
}


def is_operation(asked: Asked) -> bool:
    """Whether this is an op rather than a layer: they share some names."""
    return "ops" in (asked.spec.module or "").split(".") or asked.spec.class_name in ("TFOpLambda", "SlicingOpLambda")


def rule(asked: Asked) -> Told:
    """What an op makes. Raises Unknown."""
    name = name_of(asked)
    if name not in _OPS:
        raise Unknown(f"what {asked.config.get('function') or asked.spec.class_name} makes is not known without TensorFlow")
    return _OPS[name](asked)
