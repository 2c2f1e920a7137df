"""What JAX's transformations do to the arrays that a function takes and gives: a mapped axis goes and comes
back, a gradient has the shapes of what it is taken by, a scan stacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfmemlens.knowledge.jax_arrays.values import UNKNOWN, Class, JaxArray, Thing
from tfmemlens.values import replace

_MOST_ITEMS = 512

FUNCTIONS = frozenset(
    "jit pmap vmap grad value_and_grad checkpoint remat jacrev jacfwd jacobian hessian filter_jit filter_grad"
    " filter_value_and_grad filter_vmap filter_checkpoint shard_map pjit xla_computation".split()
)
"""Functions that make a function of one."""
SAME = frozenset(
    "jit filter_jit pjit xla_computation checkpoint remat filter_checkpoint shard_map Partial wraps".split()
)
GRADIENTS = frozenset({"grad", "filter_grad", "value_and_grad", "filter_value_and_grad"})
MAPS = frozenset({"vmap", "pmap", "filter_vmap"})
JACOBIANS = frozenset({"jacrev", "jacfwd", "jacobian", "hessian"})


class JaxTooLong(Exception):
    """The program is too long to follow."""


def items_of(value: Any) -> list[Any]:
    """What a loop goes over, or what a target takes apart; none where nothing tells."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, range):
        return list(value[:_MOST_ITEMS])
    if isinstance(value, Thing) and value.of.is_tuple:
        return [value.names.get(name, UNKNOWN) for name in value.of.fields]
    if isinstance(value, JaxArray) and value.shape and value.shape[0] <= _MOST_ITEMS:
        return [replace(value, shape=value.shape[1:])] * value.shape[0]
    if isinstance(value, JaxArray) and value.shape:
        return [replace(value, shape=value.shape[1:])] * _MOST_ITEMS
    return []


def leaves(value: Any) -> list[Any]:
    """The arrays and numbers of a tree."""
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    if isinstance(value, Thing):
        return [leaf for each in value.names.values() for leaf in leaves(each)]
    return [value]


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`jax.tree.map`: trees of another form give what nothing tells."""
    if isinstance(tree, list | tuple):
        fits = all(isinstance(each, list | tuple) and len(each) == len(tree) for each in others)
        if not fits:
            return UNKNOWN
        parts = [mapped(function, *each) for each in zip(tree, *others, strict=True)]
        return parts if isinstance(tree, list) else tuple(parts)
    if isinstance(tree, dict):
        if not all(isinstance(each, dict) and each.keys() == tree.keys() for each in others):
            return UNKNOWN
        return {key: mapped(function, tree[key], *(each[key] for each in others)) for key in tree}
    if isinstance(tree, Thing):
        if not all(isinstance(each, Thing) and each.names.keys() == tree.names.keys() for each in others):
            return UNKNOWN
        made = Thing(tree.of)
        made.names = {
            name: mapped(function, tree.names[name], *(each.names[name] for each in others))
            for name in tree.names
        }
        return made
    if tree is None or isinstance(tree, Class):
        return tree
    return function(tree, *others)


def without_axis(value: Any, axis: Any = 0) -> Any:
    """One row of a tree that is mapped over an axis."""
    if axis is None:
        return value
    if isinstance(axis, tuple | list) and isinstance(value, tuple | list) and len(axis) == len(value):
        return type(value)(without_axis(each, at) for each, at in zip(value, axis, strict=True))

    def row(leaf: Any) -> Any:
        if not isinstance(leaf, JaxArray) or not isinstance(axis, int) or axis >= len(leaf.shape):
            return leaf if not isinstance(leaf, JaxArray) else UNKNOWN
        at = axis % len(leaf.shape)
        return replace(leaf, shape=(*leaf.shape[:at], *leaf.shape[at + 1 :]), on_host=False)

    return mapped(row, value)


def length_of(value: Any, axis: Any = 0) -> int | None:
    """How many rows a tree has that is mapped over an axis."""
    if isinstance(axis, tuple | list) and isinstance(value, tuple | list) and len(axis) == len(value):
        lengths = (length_of(each, at) for each, at in zip(value, axis, strict=True))
        return next((each for each in lengths if each is not None), None)
    if not isinstance(axis, int):
        return None
    arrays = [leaf for leaf in leaves(value) if isinstance(leaf, JaxArray) and len(leaf.shape) > axis]
    return arrays[0].shape[axis] if arrays else None


def with_axis(value: Any, length: int | None) -> Any:
    """A row for each turn, stacked."""
    if length is None:
        return UNKNOWN

    def rows(leaf: Any) -> Any:
        if isinstance(leaf, JaxArray):
            return replace(leaf, shape=(length, *leaf.shape))
        return JaxArray((length,)) if isinstance(leaf, int | float) else leaf

    return mapped(rows, value)


def on_device(value: Any, narrow: Callable[[str], str]) -> Any:
    """NumPy's arrays, as JAX's functions see them."""

    def moved(leaf: Any) -> Any:
        if isinstance(leaf, JaxArray) and leaf.on_host:
            return replace(leaf, dtype=narrow(leaf.dtype), on_host=False)
        return leaf

    return mapped(moved, value)
