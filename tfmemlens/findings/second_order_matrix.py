"""A Hessian: as many numbers as the square of the parameters.

What it means: `jax.hessian` makes one row for each parameter: twice as many take four times the memory.
When it fires: the failing line calls `hessian` or makes a Jacobian of a gradient, and the request is a square
number of float32 or float64 to the byte.
What to do: products of the Hessian with vectors, which need about as much as two gradients.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.patterns import regex
from tfmemlens.units import human, square_side

BASIS = Basis.SHAPE
EXPLAINS = "the request"

_CALL = regex(r"\bhessian\w*\(|\bjac(?:fwd|rev)\(\s*(?:\w+\.)?(?:jac(?:rev|fwd|obian)|grad)\(")


def check(case: Case) -> Iterator[Finding]:
    for index, _, request in requests(case):
        side, need = side_of_hessian(request), request.needed_bytes
        if side is None or need is None:
            continue
        what = (
            f"a Hessian of {side:,} x {side:,} numbers takes {human(need)}: a row and a column for each"
            " parameter, whatever the batch"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=need,
            evidence=(Evidence("the message", request.failed.line),),
            remedies=(
                Remedy(
                    "take products of the Hessian with vectors, which never make the matrix",
                    "hvp = lambda v: jax.jvp(jax.grad(loss), (w,), (v,))[1]",
                    slug="hessian-products",
                ),
                Remedy(
                    "or only its diagonal, a block, or a few rows at a time",
                    slug="in-blocks",
                ),
            ),
            moment=index,
            rules_out=("smaller-batch", "recompute"),
        )


def side_of_hessian(request: Request) -> int | None:
    """The rows of the Hessian that the failing line makes; None where it makes none."""
    need = request.needed_bytes
    if need is None or not _CALL.search(request.failed.source_text or ""):
        return None
    return square_side(need, 4) or square_side(need, 8)
