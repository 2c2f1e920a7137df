"""The shapes that functions of `jax.numpy`, NumPy and `jax.lax` make, by the last part of their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfmemlens.knowledge.jax_arrays.values import JaxArray, Library, Shape, broadcast, count, sizes_of, whole
from tfmemlens.values import dataclass, replace

_DTYPES = {
    name: name
    for name in "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 complex64"
    " complex128 bool".split()
} | {"bool_": "bool", "float_": "float64", "double": "float64", "single": "float32", "half": "float16"}
_ORDER = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "bfloat16", "float16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A call's arguments, and what the program set."""

    name: str
    args: tuple[Any, ...]
    named: dict[str, Any]
    on_host: bool = False
    x64: bool = False

    def get(self, at: int, *names: str, default: Any = None) -> Any:
        """An argument by its place, or by one of its names."""
        if 0 <= at < len(self.args):
            return self.args[at]
        return next((self.named[name] for name in names if name in self.named), default)

    def array(self, at: int = 0) -> JaxArray | None:
        """An argument that is an array; a number is one without axes."""
        return as_array(self.get(at, "a", "x", "array", "arr"))

    @property
    def floats(self) -> str:
        """The dtype of new numbers."""
        return "float64" if self.on_host or self.x64 else "float32"

    def dtype(self, at: int = -1, default: str | None = None) -> str:
        """The dtype that is asked for."""
        return self.stored(dtype_of(self.get(at, "dtype")) or default or self.floats)

    def stored(self, dtype: str) -> str:
        """What JAX makes of a dtype without 64 bits."""
        return dtype if self.on_host or self.x64 else narrowed(dtype)


def narrowed(dtype: str) -> str:
    """The dtype that JAX keeps where 64 bits are not allowed."""
    return {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}.get(
        dtype, dtype
    )


def dtype_of(value: Any) -> str | None:
    """`jnp.float32`, `'float32'`, `float`, `x.dtype`."""
    if isinstance(value, Library):
        value = {"float": "float64", "int": "int64"}.get(value.path, value.last)
    return _DTYPES.get(value) if isinstance(value, str) else None


def as_array(value: Any) -> JaxArray | None:
    """An array, or a number as one without axes."""
    if isinstance(value, JaxArray):
        return value
    if isinstance(value, bool | int | float):
        return JaxArray((), "bool")  # a number of Python's takes the other's dtype
    if isinstance(value, list | tuple) and value:
        parts = [as_array(each) for each in value]
        shapes = {part.shape for part in parts if part is not None}
        if len(shapes) == 1 and all(part is not None for part in parts) and parts[0] is not None:
            floats = any(isinstance(each, float) for each in value)
            dtype = "float32" if floats or parts[0].dtype == "bool" else parts[0].dtype
            return JaxArray((len(parts), *parts[0].shape), dtype)
    return None


def joined_dtype(arrays: Sequence[JaxArray]) -> str:
    """The dtype of an operation on them."""
    names = [each.dtype for each in arrays]
    if {"float64", "complex64"} <= set(names):
        return "complex128"
    return max(names, key=_ORDER.index)


def elementwise(*values: Any, dtype: str | None = None) -> JaxArray | None:
    """An operation that broadcasts; None where a value is no array or they do not fit."""
    arrays = [as_array(value) for value in values]
    known = [each for each in arrays if each is not None]
    shape = broadcast(*(each.shape for each in known))
    if len(known) < len(arrays) or shape is None or not known:
        return None
    wide = dtype or joined_dtype(known)
    if wide == "bool" and any(isinstance(value, float) for value in values):
        wide = "float32"
    return JaxArray(shape, wide, all(each.on_host or not each.shape for each in known))


def axes_of(value: Any, rank: int) -> tuple[int, ...] | None:
    """`axis` as numbers from zero; all where none is given."""
    if value is None:
        return tuple(range(rank))
    given = value if isinstance(value, tuple | list) else (value,)
    axes = [whole(each) for each in given]
    known = [each + rank if each < 0 else each for each in axes if each is not None]
    return tuple(known) if len(known) == len(axes) and all(0 <= each < rank for each in known) else None


def reduced(call: Call) -> JaxArray | None:
    """`x.sum(axis=…, keepdims=…)`."""
    x = call.array()
    axes = axes_of(call.get(1, "axis"), len(x.shape)) if x else None
    if x is None or axes is None:
        return None
    keep = bool(call.named.get("keepdims"))
    sizes = [1 if at in axes else size for at, size in enumerate(x.shape) if keep or at not in axes]
    indices = call.name.startswith("arg")
    return replace(x, shape=tuple(sizes), dtype="int32" if indices else x.dtype)


def matmul(left: Any, right: Any) -> JaxArray | None:
    """`a @ b`."""
    a, b = as_array(left), as_array(right)
    if a is None or b is None or not a.shape or not b.shape:
        return None
    rows = a.shape[:-1]
    columns = b.shape[-1:] if len(b.shape) > 1 else ()
    inner = b.shape[-2] if len(b.shape) > 1 else b.shape[0]
    batch = broadcast(rows[:-1], b.shape[:-2])
    if inner != a.shape[-1] or batch is None:
        return None
    return JaxArray((*batch, *rows[-1:], *columns), joined_dtype([a, b]), a.on_host and b.on_host)


def dot(left: Any, right: Any) -> JaxArray | None:
    """`jnp.dot`: of more than two axes every row meets every column."""
    a, b = as_array(left), as_array(right)
    if a is None or b is None:
        return None
    if not a.shape or not b.shape:
        return elementwise(a, b)
    if len(b.shape) <= 2:
        return matmul(a, b)
    shape = (*a.shape[:-1], *b.shape[:-2], b.shape[-1])
    return JaxArray(shape, joined_dtype([a, b]), a.on_host and b.on_host)


def einsum(call: Call) -> JaxArray | None:
    """Sizes by their letters; `...` takes what the letters leave."""
    terms, operands = call.args[0] if call.args else None, [as_array(each) for each in call.args[1:]]
    known = [each for each in operands if each is not None]
    if not isinstance(terms, str) or len(known) < len(operands) or "->" not in terms:
        return None
    given, _, made = terms.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    rest: Shape = ()
    parts = given.split(",")
    if len(parts) != len(known):
        return None
    for part, array in zip(parts, known, strict=True):
        before, dots, after = part.partition("...")
        if len(before) + len(after) > len(array.shape) or (not dots and len(before) != len(array.shape)):
            return None
        split = len(array.shape) - len(after)
        sizes.update(zip(before, array.shape, strict=False))
        sizes.update(zip(after, array.shape[split:], strict=True))
        rest = broadcast(rest, array.shape[len(before) : split]) or rest if dots else rest
    before, dots, after = made.partition("...")
    if any(letter not in sizes for letter in before + after):
        return None
    shape = (*(sizes[each] for each in before), *(rest if dots else ()), *(sizes[each] for each in after))
    return JaxArray(shape, joined_dtype(known), all(each.on_host for each in known))


def reshaped(call: Call) -> JaxArray | None:
    """`x.reshape(b, -1, 4)`."""
    x = call.array()
    given = call.args[1:] if len(call.args) > 2 else call.get(1, "shape", "newshape", "new_sizes")
    parts = given if isinstance(given, tuple | list) else (given,)
    sizes = [whole(each) for each in parts]
    known = [size for size in sizes if size is not None]
    if x is None or len(known) < len(sizes) or sum(size < 0 for size in known) > 1:
        return None
    fixed = count(tuple(size for size in known if size >= 0))
    if any(size < 0 for size in known) and (not fixed or count(x.shape) % fixed):
        return None
    shape = tuple(count(x.shape) // fixed if size < 0 else size for size in known)
    return replace(x, shape=shape) if count(shape) == count(x.shape) else None


def transposed(call: Call) -> JaxArray | None:
    """`x.transpose(0, 2, 1)`; without axes all of them turn round."""
    x = call.array()
    if x is None:
        return None
    given = call.args[1:] if len(call.args) > 2 else call.get(1, "axes", "permutation")
    axes = tuple(reversed(range(len(x.shape)))) if given is None else axes_of(given, len(x.shape))
    if axes is None or sorted(axes) != list(range(len(x.shape))):
        return None
    return replace(x, shape=tuple(x.shape[at] for at in axes))


def swapped(call: Call) -> JaxArray | None:
    """`swapaxes`, `moveaxis`."""
    x = call.array()
    if x is None:
        return None
    pair = axes_of((call.get(1, "axis1", "source"), call.get(2, "axis2", "destination")), len(x.shape))
    if pair is None:
        return None
    sizes = list(x.shape)
    if call.name == "swapaxes":
        sizes[pair[0]], sizes[pair[1]] = sizes[pair[1]], sizes[pair[0]]
    else:
        sizes.insert(pair[1], sizes.pop(pair[0]))
    return replace(x, shape=tuple(sizes))


def squeezed(call: Call) -> JaxArray | None:
    """`squeeze` and `expand_dims`."""
    x = call.array()
    axis = call.get(1, "axis")
    if x is None:
        return None
    if call.name == "squeeze":
        axes = axes_of(axis, len(x.shape))
        if axes is None:
            return None
        return replace(x, shape=tuple(s for at, s in enumerate(x.shape) if s != 1 or at not in axes))
    axes = axes_of(axis, len(x.shape) + 1) if axis is not None else None
    if axes is None or len(axes) != 1:
        return None
    return replace(x, shape=(*x.shape[: axes[0]], 1, *x.shape[axes[0] :]))


def stacked(call: Call) -> JaxArray | None:
    """`stack`, `concatenate`, `vstack`, `hstack`."""
    given = call.get(0, "arrays")
    parts = [as_array(each) for each in given] if isinstance(given, list | tuple) else []
    known = [each for each in parts if each is not None]
    if not known or len(known) < len(parts):
        return None
    first = known[0]
    new = call.name == "stack"
    rank = len(first.shape) + new
    axis = call.get(1, "axis", "dimension", default=1 if call.name == "hstack" and rank > 1 else 0)
    axes = axes_of(axis, rank) if rank else None
    if axes is None or len(axes) != 1:
        return None
    at = axes[0]
    if new:
        shape = (*first.shape[:at], len(known), *first.shape[at:])
    elif all(len(each.shape) == rank for each in known):
        shape = (*first.shape[:at], sum(each.shape[at] for each in known), *first.shape[at + 1 :])
    else:
        return None
    return JaxArray(shape, call.stored(joined_dtype(known)), call.on_host)


def padded(call: Call) -> JaxArray | None:
    """`jnp.pad(x, ((0, 0), (1, 1)))`, also with one number or one pair for all axes."""
    x, width = call.array(), call.get(1, "pad_width")
    if x is None:
        return None
    if whole(width) is not None:
        width = ((width, width),)
    pairs = [sizes_of(each) for each in width] if isinstance(width, tuple | list) else []
    pairs = pairs * len(x.shape) if len(pairs) == 1 else pairs
    if len(pairs) != len(x.shape):
        return None
    shape = [size + sum(pair) for size, pair in zip(x.shape, pairs, strict=True) if pair is not None]
    return replace(x, shape=tuple(shape)) if len(shape) == len(x.shape) else None


Rule = Callable[[Call], Any]
