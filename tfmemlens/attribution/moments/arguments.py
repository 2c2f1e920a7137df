"""Layers of a compiled JAX program whose code names none: what is computed with an argument of the program
belongs to that argument's layer.

A dictionary of weights has its layers' names, `params['decoder']['w']`, where the scopes of the operations
are empty. A gradient of such a value has its shape, and belongs to the same. A kernel and its bias,
`params['decoder']['b']`, are one layer, and what a loop stacks is of the weight that its rows are made with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tfmemlens.attribution.moments.owners import argument_kind
from tfmemlens.model.allocation import Allocation, Shape
from tfmemlens.model.attribution import Attribution, Kind, Owner
from tfmemlens.model.incident import ProgramValue
from tfmemlens.patterns import regex
from tfmemlens.values import replace

_PART = regex(
    r"""(?P<layer>.+[\])])(?:\[['"]|\.)"""
    r"""(?:w|b|W|B|weights?|kernel|bias|scale|offset|gamma|beta)(?:['"]\])?\Z"""
)
"""A weight of a layer of several, within a dictionary or an object of layers."""


def with_arguments(attribution: Attribution, values: Sequence[ProgramValue]) -> Attribution:
    """The same, with the arguments' names for rows that have no layer."""
    known = {
        (value.node, value.size_bytes): next(iter(layers))
        for value in reversed(values)
        if len(layers := {*map(_layer, _weights(value.arguments))}) == 1
    }
    if not known:
        return attribution
    by_shape = _by_shape(attribution, known)
    owners = [
        _owned(row, owner, known, by_shape)
        for row, owner in zip(attribution.table, attribution.owners, strict=True)
    ]
    return replace(attribution, owners=owners)


def _weights(arguments: Iterable[str]) -> list[str]:
    """Those that lie in a dictionary or an object: a single array may be the batch."""
    return [
        each for each in arguments if ("[" in each or "." in each) and argument_kind(each) is Kind.PARAMETER
    ]


def _layer(argument: str) -> str:
    """`params['decoder']` of `params['decoder']['w']`; of what is no part of a layer, itself."""
    match = _PART.match(argument)
    return match["layer"] if match else argument


def _by_shape(attribution: Attribution, known: Mapping[tuple[str, int], str]) -> dict[Shape, set[str]]:
    """The arguments that values of each shape are computed with in the forward pass."""
    by_shape: dict[Shape, set[str]] = {}
    for row, owner in zip(attribution.table, attribution.owners, strict=True):
        argument = known.get((row.node or "", row.size_bytes))
        if argument and row.shape and owner.kind is Kind.ACTIVATION:
            by_shape.setdefault(row.shape, set()).add(argument)
    return by_shape


def _owned(
    row: Allocation, owner: Owner, known: Mapping[tuple[str, int], str], by_shape: Mapping[Shape, set[str]]
) -> Owner:
    if owner.kind is Kind.PARAMETER and owner.layer is not None:
        return replace(owner, layer=_layer(owner.layer))
    if owner.layer is not None:
        return owner
    if owner.kind in (Kind.ACTIVATION, Kind.LOOP_STACK):
        argument = known.get((row.node or "", row.size_bytes))
    else:
        alike = by_shape.get(row.shape or (), set()) if owner.kind is Kind.GRADIENT else set()
        argument = next(iter(alike)) if len(alike) == 1 else None
    return replace(owner, layer=argument) if argument else owner
