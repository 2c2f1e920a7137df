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
from collections.abc import Iterable, Mapping, Sequence, Set

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
    vectors, data = _vectors(attribution), _data(attribution)
    known = {key: layer for key, alike in _alike(values).items() if (layer := _of_all(alike, vectors | data))}
    lines = {key: label for key, alike in _alike(values).items() if (label := _line_of(alike))}
    weights = _shaped_weights(attribution)
    if not known and not weights and not lines:
        return attribution
    by_shape = _by_shape(attribution, known)
    trains = any(owner.kind is Kind.GRADIENT for owner in attribution.owners)
    owners = [
        _with_line(
            row,
            (_given_back(row, owner, weights) if trains else None)
            or _of_its_weight(row, owner, weights)
            or _owned(row, owner, known, by_shape),
            lines,
            weights,
        )
        for row, owner in zip(attribution.table, attribution.owners, strict=True)
    ]
    return replace(attribution, owners=owners)


_Key = tuple[str, int]


def _alike(values: Sequence[ProgramValue]) -> dict[_Key, list[ProgramValue]]:
    """The values that a row may be: all that a loop stacks has one name, and some of it one size."""
    alike: dict[_Key, list[ProgramValue]] = {}
    for value in values:
        alike.setdefault((value.node, value.size_bytes), []).append(value)
    return alike


def _of_all(alike: Sequence[ProgramValue], others: Set[str]) -> str | None:
    """The one layer of all of them; of some alone only where one line makes all."""
    layers = [{*map(_layer, _weights(value.arguments))} - others for value in alike]
    one = {next(iter(each)) for each in layers if len(each) == 1}
    whole = all(len(each) == 1 for each in layers) or len({value.place for value in alike}) == 1
    return next(iter(one)) if len(one) == 1 and whole else None


def _line_of(alike: Sequence[ProgramValue]) -> str:
    """The line that makes them; of several within one function the first to the last of them."""
    labels = list(dict.fromkeys(value.label for value in alike if value.label))
    matches = [_LINE.match(label) for label in labels]
    told = [match for match in matches if match]
    heads = {match["head"] for match in told}
    if len(labels) < _SEVERAL or len(told) < len(labels) or len(heads) > 1:
        return labels[0] if labels else ""
    numbers = sorted(int(match["line"]) for match in told)
    return f"{told[0]['head']}{numbers[0]} to {numbers[-1]})"


_LINE = regex(r"(?P<head>\w+ \(.+:)(?P<line>\d+)\)\Z")
_SEVERAL = 2


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


def _data(attribution: Attribution) -> set[str]:
    """Arguments of a tuple with as many rows each, `tasks[0]` and `tasks[1]`: a batch and no weights. Of
    matrices that are multiplied in turn, one's columns are the next one's rows.
    """
    parts: dict[str, dict[str, tuple[int, ...]]] = {}
    for row in attribution.table:
        match = _OF_A_TUPLE.match(row.node or "") if row.purpose == "parameter" and row.shape else None
        if match:
            shape = tuple(side or 0 for side in row.shape or ())
            parts.setdefault(match["whole"], {})[row.node or ""] = shape
    found = set[str]()
    for whole in parts.values():
        rows = {shape[0] for shape in whole.values()}
        chained = any(len(shape) > 1 and shape[-1] in rows for shape in whole.values())
        if len(whole) > 1 and len(rows) == 1 and max(rows) >= _FEWEST_ROWS and not chained:
            found.update(whole)
    return found


_OF_A_TUPLE = regex(r"(?P<whole>\w+)\[\d+\]\Z")
_FEWEST_ROWS = 8
"""A kernel has fewer rows, as all kernels of a network do."""


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


def _given_back(row: Allocation, owner: Owner, weights: _Shaped) -> Owner | None:
    """The owner of what a training step gives back in one weight's shape, and computes outside of what it
    derives: the new weight, or a moment of it. None where it is anything else, or of one of several.
    """
    outside = row.purpose == "maybe_live_out" and "jvp(" not in (row.node or "")
    if owner.layer is not None or owner.kind is not Kind.ACTIVATION or not outside:
        return None
    alike = weights.get((row.shape or (), row.dtype), set())
    return replace(owner, layer=next(iter(alike))) if len(alike) == 1 else None


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
