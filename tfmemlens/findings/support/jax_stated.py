"""What a line of JAX code makes of arrays whose shapes the text states: a row broadcast against a column, all
rows of a data set given to a network at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfmemlens.findings.support.jax_code import IN_BLOCKS
from tfmemlens.findings.support.jax_stack import LEAST_BYTES, MadeByLine, calls_program
from tfmemlens.model.capture import StatedSize
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Remedy
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

ITEMS = ((4, "float32"), (2, "bfloat16 or float16"), (8, "float64"), (1, "int8 or bool"))
"""Bytes of an element, the likeliest first."""
_OPERANDS = regex(
    r"(?P<left>\b[A-Za-z_][\w.]*)\s*(?:[-+*/<>]|==|<=|>=)\s*(?=(?P<right>[A-Za-z_][\w.]*)(?![\w.(]))"
)


def of_stated_arrays(case: Case, text: str, need: int | None) -> MadeByLine | None:
    """What a line makes of arrays whose shapes the text states; None where the request is none of theirs."""
    if need is None or need < LEAST_BYTES:
        return None
    return _broadcast(text, need, case.capture.surroundings.sizes) or _whole_set(case, text, need)


def _broadcast(text: str, need: int, stated: Sequence[StatedSize]) -> MadeByLine | None:
    """`pred - y` of a row and a column: every element of one meets every element of the other."""
    shapes = {each.name.removesuffix(".shape"): each.sizes for each in stated if each.name}
    for match in _OPERANDS.finditer(text):
        row, column = shapes.get(match["left"]), shapes.get(match["right"])
        if row is None or column is None or {len(row), len(column)} != {1, 2}:
            continue
        (size,), (rows, ones) = sorted((row, column), key=len)
        dtype = next((name for item, name in ITEMS if size * rows * item == need), None)
        if ones != 1 or dtype is None:
            continue
        shown = f"`{match['left']}` {format_shape(row)} and `{match['right']}` {format_shape(column)}"
        many = f"{rows:,} x {size:,} in {dtype}, the request to the byte"
        wide = match["left"] if len(row) == 2 else match["right"]
        same = Remedy(
            "give both the same shape, if each row has one partner only (a loss of predictions and targets)",
            f"{wide} = {wide}.squeeze(-1)   # or [:, 0]",
            slug="compare-shapes",
        )
        return MadeByLine(
            f"{shown} are broadcast against each other: {many}",
            (same,) if rows == size else (IN_BLOCKS, same),
            Basis.SHAPE,
        )
    return None


_GIVEN = regex(r"(?<![\w.])(?P<call>[A-Za-z_][\w.]*)\((?P<given>[^()]*)")
_ALONE = regex(r"(?<![\w.])[A-Za-z_]\w*(?=\s*(?:,|\Z))")
_NO_NETWORK = regex(
    r"(?:\A|\.)(?:array|asarray|device_put|load|save|print|len|shape|sum|mean|split|\w*split|fit|\w*loader"
    r"|\w*dataset\w*|permutation|shuffle|stack|concatenate|predict|evaluate|range|zip|reshape|astype)\Z"
)
_OF_ARRAYS = regex(r"(?:jnp|np|lax|jax\.(?:numpy|lax|scipy|ops)|einops|optax|plt|tf)\.")
"""Libraries of functions of arrays, which run no network."""
_SAMPLES = 2000


def _whole_set(case: Case, text: str, need: int) -> MadeByLine | None:
    """A network that is given all rows of a data set in one call: the request then is a multiple of them."""
    told = case.capture.surroundings
    sets = {
        each.name.removesuffix(".shape"): each.sizes
        for each in told.sizes
        if each.name and len(each.sizes) >= 2 and each.sizes[0] >= _SAMPLES and need % each.sizes[0] == 0
    }
    lines = [text] if text else [line.text for line in told.code]
    for match in (match for line in lines for match in _GIVEN.finditer(line)):
        name = next((given for given in _ALONE.findall(match["given"]) if given in sets), "")
        rows = sets.get(name)
        if (
            rows is None
            or _OF_ARRAYS.match(match["call"])
            or _NO_NETWORK.search(match["call"])
            or calls_program(match[0])
        ):
            continue
        each = need // rows[0]
        if each < math.prod(rows[1:]):
            continue  # less than the rows themselves: of something else
        keras = case.api.library == "Keras"
        return MadeByLine(
            f"`{match['call']}` is given all {rows[0]:,} rows of `{name}` at once"
            f" ({human(each)} for each of them here)",
            (
                Remedy(
                    "go through them in batches, and bring each batch's result to the host",
                    f"model.predict({name}, batch_size=64)"
                    if keras
                    else f"out = [np.asarray({match['call']}(params, part)) for part in"
                    f" np.array_split({name}, {-(-rows[0] // 64)})]",
                    slug="in-pieces",
                ),
            ),
            Basis.SHAPE,
        )
    return None
