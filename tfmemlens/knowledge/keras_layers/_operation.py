"""What an op in a model is called, what it was given, and what type it makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfmemlens.knowledge.keras_layers._context import (
    LayerCall,
    Shape,
    UnsupportedLayer,
    listed,
    place_of,
    whole,
)
from tfmemlens.model.tensor import TensorType

COMPARE = set(
    "equal notequal greater greaterequal less lessequal logicaland logicalor logicalnot isnan isfinite isinf"
    " isclose".split()
)
_TRUTH = {"all", "any"}
_PLACES = {"argmax", "argmin", "argsort", "countnonzero"}
"""Ops that make numbers of elements, whatever they read."""


def name_of(call: LayerCall) -> str:
    """The op's name in lower case without underscores: `math.reduce_mean` and `Mean` are both `mean`."""
    raw = str(call.config.get("function") or call.spec.class_name)
    plain = raw.rpartition(".")[2].replace("_", "").lower()
    return plain.removeprefix("reduce") if plain.startswith("reduce") else plain


def argument(call: LayerCall, position: int, *names: str, default: Any = None) -> Any:
    """A call argument by name or position, else the setting of that name."""
    for name in (*names, str(position)):
        if call.arguments.get(name) is not None:
            return call.arguments[name]
    return call.get(*names, default=default) if names else default


def needed(call: LayerCall, position: int, *names: str) -> Any:
    """The same, where the op cannot do without it. Raises UnsupportedLayer."""
    value = argument(call, position, *names)
    if value is None:
        raise UnsupportedLayer(f"its argument {names[0]!r} is missing")
    return value


def sizes(call: LayerCall, position: int, *names: str) -> list[int | None]:
    """A list of sizes in the arguments, None for one that is computed or open (-1). Raises
    UnsupportedLayer.
    """
    return [
        None if size is None or size == -1 or isinstance(size, TensorType) else whole(size, names[0])
        for size in listed(needed(call, position, *names), names[0])
    ]


def tensors(value: object) -> Iterator[TensorType]:
    """All tensors in nested arguments."""
    if isinstance(value, TensorType):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)


def constant_shape(value: object) -> Shape:
    """The shape of numbers that are written out in nested lists."""
    return (
        (len(value), *constant_shape(value[0]))
        if isinstance(value, list) and value and not list(tensors(value))
        else ()
    )


def dtype_of(call: LayerCall) -> str:
    """The dtype of what an op makes, by what it reads."""
    if name_of(call) in COMPARE | _TRUTH:
        return "bool"
    if name_of(call) in _PLACES:
        return "int32" if call.dialect == "keras-3" or name_of(call) == "argsort" else "int64"
    kinds = [each.dtype for each in call.inputs if each.dtype]
    floats = [kind for kind in kinds if "float" in kind]
    return (floats or kinds or [call.dtype])[0]


def axes_of(value: Any, rank: int) -> list[int]:
    """One axis or several, as places counted from the front. Raises UnsupportedLayer."""
    return [place_of(axis, rank) for axis in (value if isinstance(value, list | tuple) else [value])]
