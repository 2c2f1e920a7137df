"""Arrays and data sets that a program makes: their shapes, where the call states them."""

from __future__ import annotations

from typing import Any

from tfmemlens.knowledge.keras_layers import MAX_SIZE
from tfmemlens.knowledge.keras_program.values import UNKNOWN, DataSet, External, Names, size_within
from tfmemlens.model.tensor import TensorType

_FILLED = frozenset(
    "zeros ones empty full random standard_normal random_sample"
    " truncated_normal random_normal random_uniform stateless_uniform stateless_normal"
    " stateless_truncated_normal".split()
)
_DIMENSIONS = frozenset(("rand", "randn"))
_DRAWN = frozenset(
    "normal uniform randint integers choice poisson exponential beta binomial zipf geometric laplace".split()
)
_WHOLE_NUMBERS = frozenset(("randint", "integers"))
_ALIKE = frozenset(
    "zeros_like ones_like empty_like full_like array asarray constant convert_to_tensor Variable".split()
)
_OF_NUMPY = ("np.", "numpy.", "rng.")
_DATA = {
    "mnist": ((60000, 28, 28), (10000, 28, 28)),
    "fashion_mnist": ((60000, 28, 28), (10000, 28, 28)),
    "cifar10": ((50000, 32, 32, 3), (10000, 32, 32, 3)),
    "cifar100": ((50000, 32, 32, 3), (10000, 32, 32, 3)),
}
_SAME_SET = frozenset(
    "shuffle repeat prefetch cache take skip with_options shard apply as_numpy_iterator".split()
)


def made(path: str, given: list[Any], named: Names) -> Any:
    """What a function of NumPy or TensorFlow makes; UNKNOWN where it is another, or does not tell."""
    name = path.rpartition(".")[2]
    dtype = _dtype(named.get("dtype"), "float32")
    shape = named.get("shape", named.get("size"))
    if name in ("default_rng", "RandomState"):
        return External("numpy.random.Generator")
    if name == "load_data":
        return _known_data(path)
    if name == "TensorSpec":
        return tensor(shape if shape is not None else (given or [UNKNOWN])[0], dtype)
    if name == "get_variable":
        return tensor(given[1] if shape is None and len(given) > 1 else shape, dtype)
    if name in ("range", "arange") and "." in path and "Dataset" not in path and 1 <= len(given) <= 2:
        first, last = (0, given[0]) if len(given) == 1 else given
        whole = isinstance(first, int) and isinstance(last, int) and last > first
        return tensor((last - first,), "int32") if whole else UNKNOWN
    if name == "eye" and given:
        columns = given[1] if len(given) > 1 else named.get("num_columns", given[0])
        before = named.get("batch_shape", ())
        return tensor((*before, given[0], columns), dtype) if isinstance(before, tuple | list) else UNKNOWN
    if name == "linspace" and len(given) > 2:
        return tensor(given[2], dtype)
    if name in _DIMENSIONS:
        return tensor(tuple(given), dtype)
    if name in _FILLED:
        return tensor(given[0] if shape is None and given else shape, dtype)
    if name in _DRAWN:
        at = 2 if path.startswith(_OF_NUMPY) or "numpy" in path else 0
        if name in ("poisson", "exponential", "choice", "zipf", "geometric"):
            at = 1
        if name in _WHOLE_NUMBERS:
            dtype = _dtype(named.get("dtype"), "int64")
            if shape is None and len(given) <= at:
                return TensorType((), dtype)
        return tensor(given[at] if shape is None and len(given) > at else shape, dtype)
    if name in _ALIKE and given:
        return _alike(given[0], dtype)
    if name in ("from_tensor_slices", "from_tensors"):
        element = given[0] if given else named.get("tensors", UNKNOWN)
        return DataSet(each_of(element, _first_gone) if name == "from_tensor_slices" else element)
    if path.endswith("Dataset.range"):
        return DataSet(TensorType((), "int64"))
    if name == "from_generator":
        return DataSet(named["output_signature"] if "output_signature" in named else _of_shapes(given, named))
    if name in _ITERATORS and given and isinstance(given[0], DataSet):
        return given[0]
    if name == "next" and path == name and given and isinstance(given[0], DataSet):
        return given[0].element
    return UNKNOWN


_ITERATORS = ("make_one_shot_iterator", "make_initializable_iterator", "iter")


def _of_shapes(given: list[Any], named: Names) -> Any:
    """Elements by `output_types` and `output_shapes`, as TensorFlow 1 and early 2 ask for them."""
    types = named.get("output_types", given[1] if len(given) > 1 else UNKNOWN)
    shapes = named.get("output_shapes", given[2] if len(given) > 2 else UNKNOWN)
    if isinstance(types, dict) and isinstance(shapes, dict):
        return {key: tensor(shapes.get(key), _dtype(kind, "float32")) for key, kind in types.items()}
    if isinstance(types, tuple | list) and isinstance(shapes, tuple | list) and len(types) == len(shapes):
        pairs = zip(types, shapes, strict=True)
        return tuple(_element(shape, kind) for kind, shape in pairs)
    return tensor(shapes, _dtype(types, "float32"))


def _element(shape: Any, kind: Any) -> Any:
    """A tensor of a set's element; a single number where its shape is empty."""
    dtype = _dtype(kind, "float32")
    return TensorType((), dtype) if shape in ((), []) else tensor(shape, dtype)


def tensor(shape: Any, dtype: str = "float32") -> Any:
    """A tensor of this shape; sizes that are not known are open, UNKNOWN where it is no shape at all."""
    if isinstance(shape, int) and not isinstance(shape, bool):
        shape = (shape,)
    if not isinstance(shape, tuple | list) or not 0 < len(shape) <= 8:
        return UNKNOWN
    return TensorType(tuple(map(_size, shape)), dtype)


def _size(value: Any) -> int | None:
    return size_within(value, MAX_SIZE)


def _dtype(value: Any, default: str) -> str:
    name = value.path.rpartition(".")[2] if isinstance(value, External) else value
    return name if isinstance(name, str) else default


def _alike(value: Any, dtype: str) -> Any:
    if isinstance(value, TensorType):
        return value
    if isinstance(value, tuple | list) and value:
        inner = _alike(value[0], dtype)
        rest = inner.shape if isinstance(inner, TensorType) and inner.shape else ()
        return tensor((len(value), *rest), dtype)
    return UNKNOWN


def _known_data(path: str) -> Any:
    shapes = next((shapes for name, shapes in _DATA.items() if f".{name}." in f".{path}"), None)
    if shapes is None:
        return ((UNKNOWN, UNKNOWN), (UNKNOWN, UNKNOWN))
    return tuple((TensorType(each, "uint8"), TensorType(each[:1], "uint8")) for each in shapes)


def each_of(value: Any, change: Any, depth: int = 4) -> Any:
    """Nested tensors, each changed."""
    if isinstance(value, TensorType):
        return change(value)
    if isinstance(value, dict) and depth:
        return {key: each_of(each, change, depth - 1) for key, each in value.items()}
    if isinstance(value, tuple | list) and depth:
        return tuple(each_of(each, change, depth - 1) for each in value)
    return UNKNOWN


def _first_gone(value: TensorType) -> Any:
    return TensorType(value.shape[1:], value.dtype) if value.shape else UNKNOWN


def open_batch(value: TensorType) -> Any:
    """One batch of what an array holds, of whatever size."""
    return TensorType((None, *value.shape[1:]), value.dtype) if value.shape else UNKNOWN


def of_set(data: DataSet, name: str) -> Any:
    """What a method of a data set gives; `map` is the interpreter's."""
    if name in ("batch", "padded_batch", "ragged_batch"):
        return DataSet(
            each_of(data.element, lambda each: TensorType((None, *(each.shape or ())), each.dtype))
        )
    if name == "get_next":
        return data.element
    return data if name in _SAME_SET or name in _ITERATORS else UNKNOWN


def of_tensor(value: TensorType, name: str, given: list[Any]) -> Any:
    """What a method of an array gives that needs no arithmetic."""
    if name == "astype" and given:
        return TensorType(value.shape, _dtype(given[0], value.dtype or "float32"))
    return value if name in ("copy", "numpy", "read_value", "assign") else UNKNOWN
