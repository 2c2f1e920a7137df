"""A request that no device has is a square number of values: most likely one for every pair of rows.

What it means: `[n,1]` combined with `[n]` gives `[n,n]`, without an error: a column of labels against a flat
prediction is enough. With some 100,000 rows that is more than any device holds.
When it fires: a request of JAX's beyond the device (or any device, where none is known), without a list of
buffers, is n x n values to the byte, with an n of 16,384 or more that can hardly be chance.
What to do: print the shapes of what is combined, and drop the axis of length 1. Where pairs are meant, go
through them in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmemlens.findings.support.rows import device_limit, requests
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.stated_sizes import odd_part
from tfmemlens.findings.support.xla_arena.facts import LARGEST_DEVICE
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity

BASIS = Basis.SHAPE
EXPLAINS = "the request"

_LEAST_SIDE = 16_384
_TELLING = 100
"""A side with as much in odd factors is no product of powers of two, which are squares now and then."""
_DTYPES = ((4, "float32"), (8, "float64"))


def check(case: Case) -> Iterator[Finding]:
    if framework_of(case) != JAX:
        return
    for index, moment, request in list(requests(case))[:1]:
        need, limit = request.needed_bytes, device_limit(case, moment)
        square = _square(need) if need and not len(moment.attribution.table) else None
        if square is None or need is None or need <= (limit.high if limit else LARGEST_DEVICE):
            continue
        side, dtype = square
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"the request is {side:,} x {side:,} values in {dtype}, to the byte",
            because=f"to the byte it is {side:,} x {side:,} in {dtype}, so most likely a value for every row"
            " with every row: a kernel or distances, or by mistake, where [n,1] is combined with [n]",
            explains=need,
            evidence=(Evidence("the message", request.failed.line),),
            remedies=tuple(_remedies(case, side)),
            moment=index,
        )


def _square(need: int) -> tuple[int, str] | None:
    """The side and the type of a square that is the request, where it is one of a single type."""
    found = [
        (side, dtype)
        for item, dtype in _DTYPES
        if need % item == 0 and (side := math.isqrt(need // item)) ** 2 * item == need
    ]
    side = found[0][0] if len(found) == 1 else 0
    return found[0] if side >= _LEAST_SIDE and odd_part(side) >= _TELLING else None


def _remedies(case: Case, side: int) -> Iterator[Remedy]:
    numpyro = case.api.library == "NumPyro"
    where = " (of NumPyro: each site, its plate, and `obs`)" if numpyro else ""
    yield Remedy(
        f"look for what has {side:,} rows, and print the shapes that are combined{where}: [n,1] against [n]"
        " gives [n,n]; drop the axis of length 1",
        "tr = handlers.trace(handlers.seed(model, key)).get_trace(x, y);"
        " print(numpyro.util.format_shapes(tr))"
        if numpyro
        else "y = y.squeeze(-1)   # print(jax.eval_shape(f, *arguments)) shows shapes without running",
        slug="compare-shapes",
    )
    yield Remedy(
        "if every row with every row is meant (a kernel or distances): go through the rows in blocks,"
        " and reduce"
        " each block at once",
        "y = jax.lax.map(f, x, batch_size=256)   # f of one row against all others",
        slug="in-blocks",
    )
