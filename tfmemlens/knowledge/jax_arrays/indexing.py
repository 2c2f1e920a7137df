"""`x[:, None]`, `x[i]`, `x[rows]`, `x[..., 0]`: the shape of an indexed array."""

from __future__ import annotations

from typing import Any

from tfmemlens.knowledge.jax_arrays.rules import as_array
from tfmemlens.knowledge.jax_arrays.values import JaxArray, Library, broadcast
from tfmemlens.knowledge.keras_layers import MAX_SIZE
from tfmemlens.values import replace


def indexed(x: JaxArray, index: Any) -> JaxArray | None:
    """What the index gives; None where it does not fit or nothing tells."""
    parts = index if isinstance(index, tuple) else (index,)
    parts = tuple(None if isinstance(each, Library) and each.last == "newaxis" else each for each in parts)
    used = sum(each is not None and each is not Ellipsis for each in parts)
    if used > len(x.shape):
        return None
    if sum(each is Ellipsis for each in parts) == 0:
        parts = (*parts, Ellipsis)
    sizes: list[int] = []
    at, place, gathered = 0, None, []
    for part in parts:
        if part is None:
            sizes.append(1)
        elif part is Ellipsis:
            rest = len(x.shape) - used
            sizes += x.shape[at : at + rest]
            at += rest
        elif isinstance(part, slice):
            if x.shape[at] > MAX_SIZE:
                return None
            sizes.append(len(range(*part.indices(x.shape[at]))))
            at += 1
        else:
            array = as_array(part)
            if array is None or (array.dtype == "bool" and array.shape):
                return None
            place = len(sizes) if place is None else place
            gathered.append(array.shape)
            at += 1
    if gathered and place is not None:
        shape = broadcast(*gathered)
        if shape is None:
            return None
        sizes[place:place] = shape
    return replace(x, shape=tuple(sizes))
