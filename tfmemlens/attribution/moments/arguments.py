"""Layers of a compiled JAX program whose code names none: what is computed with an argument of the program
belongs to that argument's layer.

A dictionary of weights has its layers' names, `params['decoder']['w']`, where the scopes of the operations
are empty. A gradient of such a value has its shape, and belongs to the same. A kernel and its bias,
`params['decoder']['b']`, are one layer, and what a loop stacks is of the weight that its rows are made with.

What has the shape and dtype of a weight, or of one for each row that vmap maps over, belongs to that weight
or to nobody: a gradient is computed with the weights of the layers around it. A vector that is no part of a
layer owns nothing: what it is added to is the work of another line. What no argument tells is of the user's
line that makes it, `encode (net.py:24)`.
"""

from __future__ import annotations

import math
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
    """The same, with the arguments' names for rows that have no layer, else with the lines that make them."""
    vectors = _vectors(attribution)
    known = {
        (value.node, value.size_bytes): next(iter(layers))
        for value in reversed(values)
        if len(layers := {*map(_layer, _weights(value.arguments))} - vectors) == 1
    }
    lines = {(value.node, value.size_bytes): value.label for value in reversed(values) if value.label}
    weights = _shaped_weights(attribution)
    if not known and not weights and not lines:
        return attribution
    by_shape = _by_shape(attribution, known)
    owners = [
        _with_line(
            row, _of_its_weight(row, owner, weights) or _owned(row, owner, known, by_shape), lines, weights
        )
        for row, owner in zip(attribution.table, attribution.owners, strict=True)
    ]
    return replace(attribution, owners=owners)


def _vectors(attribution: Attribution) -> set[str]:
    """Arguments of one dimension that are all that there is of their layer, such as a bias beside a matrix in
    one dictionary.
    """
    ranks: dict[str, int] = {}
    for row in attribution.table:
        if row.purpose == "parameter" and row.node and row.shape is not None:
            layer = _layer(row.node)
            ranks[layer] = max(ranks.get(layer, 0), len(row.shape))
    return {layer for layer, rank in ranks.items() if rank < _LEAST_RANK}


def _with_line(
    row: Allocation, owner: Owner, lines: Mapping[tuple[str, int], str], weights: _Shaped
) -> Owner:
    """The same with the line that makes it, where nothing else is known; what has the shape of several
    weights is of one of them, and of no line.
    """
    of_step = owner.layer is None and owner.kind is not Kind.PARAMETER
    line = lines.get((row.node or "", row.size_bytes)) if of_step else None
    return replace(owner, layer=line) if line and (row.shape, row.dtype) not in weights else owner


def _weights(arguments: Iterable[str]) -> list[str]:
    """Those that lie in a dictionary or an object: a single array may be the batch."""
    return [
        each for each in arguments if ("[" in each or "." in each) and argument_kind(each) is Kind.PARAMETER
    ]


def _layer(argument: str) -> str:
    """`params['decoder']` of `params['decoder']['w']`; of what is no part of a layer, itself."""
    match = _PART.match(argument)
    return match["layer"] if match else argument


_Shaped = dict[tuple[Shape, str | None], set[str]]
"""Layers by a shape and a dtype."""
_LEAST_RANK = 2
"""A bias has the shape of many another array."""


def _shaped_weights(attribution: Attribution) -> _Shaped:
    """The layers of the program's matrices and kernels that are its arguments."""
    shaped: _Shaped = {}
    for row in attribution.table:
        if row.purpose == "parameter" and row.shape and len(row.shape) >= _LEAST_RANK:
            for weight in _weights([row.node or ""]):
                shaped.setdefault((row.shape, row.dtype), set()).add(_layer(weight))
    return shaped


def _of_its_weight(row: Allocation, owner: Owner, weights: _Shaped) -> Owner | None:
    """The owner of what has one weight's shape for each row of a vmap, or is the gradient of one: that of the
    weight, and nobody where several are alike. None where it has no weight's shape.
    """
    if owner.layer is not None or owner.kind not in (Kind.ACTIVATION, Kind.GRADIENT):
        return None
    shape = row.shape or ()
    starts = (0, 1) if owner.kind is Kind.GRADIENT else (1,)
    alike = next(filter(None, (weights.get((shape[start:], row.dtype)) for start in starts)), None)
    if alike is None and owner.kind is Kind.GRADIENT and "vmap(" in (row.node or ""):
        alike = _flat(shape, row.dtype, weights)
    if alike is None:
        return None
    return replace(owner, layer=next(iter(alike))) if len(alike) == 1 else owner


def _flat(shape: Shape, dtype: str | None, weights: _Shaped) -> set[str] | None:
    """The layers of the weights with as many numbers as a row of a matrix has: XLA flattens what it maps."""
    if len(shape) != _LEAST_RANK:
        return None
    fitting = (
        names
        for (known, of), names in weights.items()
        if of == dtype
        and 1 not in known
        and all(known)
        and math.prod(side or 0 for side in known) == shape[1]
    )
    return set().union(*fitting) or None


def _by_shape(attribution: Attribution, known: Mapping[tuple[str, int], str]) -> _Shaped:
    """The arguments that values of each shape and dtype are computed with in the forward pass."""
    by_shape: _Shaped = {}
    for row, owner in zip(attribution.table, attribution.owners, strict=True):
        argument = known.get((row.node or "", row.size_bytes))
        if argument and row.shape and owner.kind is Kind.ACTIVATION:
            by_shape.setdefault((row.shape, row.dtype), set()).add(argument)
    return by_shape


def _owned(row: Allocation, owner: Owner, known: Mapping[tuple[str, int], str], by_shape: _Shaped) -> Owner:
    if owner.kind is Kind.PARAMETER and owner.layer is not None:
        return replace(owner, layer=_layer(owner.layer))
    if owner.layer is not None:
        return owner
    if owner.kind in (Kind.ACTIVATION, Kind.LOOP_STACK):
        argument = known.get((row.node or "", row.size_bytes))
    else:
        alike = by_shape.get((row.shape or (), row.dtype), set()) if owner.kind is Kind.GRADIENT else set()
        argument = next(iter(alike)) if len(alike) == 1 else None
    return replace(owner, layer=argument) if argument else owner
