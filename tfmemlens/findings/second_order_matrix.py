"""A Hessian: as many numbers as the square of the parameters.

What it means: `jax.hessian` makes one row for each parameter: twice as many take four times the memory.
When it fires: the failing line calls `hessian` or makes a Jacobian of a gradient, and the request is a square
number of float32 or float64 to the byte; or the request is the square of a number that the text states as one
of parameters, once or twice.
What to do: products of the Hessian with vectors, which need about as much as two gradients; of least squares
with few residuals the equations for these.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.findings.support.stated_parameters import of_stated_parameters
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human, square_side

BASIS = Basis.SHAPE
EXPLAINS = "the request"

_CALL = regex(r"\bhessian\w*\(|\bjac(?:fwd|rev)\(\s*(?:\w+\.)?(?:jac(?:rev|fwd|obian)|grad)\(")


def check(case: Case) -> Iterator[Finding]:
    for index, _, request in requests(case):
        side, need = side_of_hessian(request), request.needed_bytes
        if side is None and need and (stated := of_stated_parameters(case, need)):
            from tfmemlens.findings.support.jax_computed import is_told_by_the_code  # reads trees

            if not is_told_by_the_code(case, stated[0], need):  # else failing-line-of-jax names its line
                yield _of_parameters(index, request, stated, need)
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


def _of_parameters(index: int, request: Request, stated: tuple[int, str, Line], need: int) -> Finding:
    side, _, line = stated
    times = "two matrices" if need >= 2 * side * side * _FLOAT else "a matrix"
    exact = "to the byte" if need % (side * side * _FLOAT) == 0 else "but for a thousandth"
    what = (
        f"{exact} it is {times} of {side:,} x {side:,} float32, and {line.place} states {side:,}"
        " parameters: most likely normal equations (J'J), a Hessian or a Fisher matrix, as large however few"
        " rows of data there are"
    )
    return Finding(
        severity=Severity.CAUSE,
        headline=what,
        because=what,
        explains=need,
        evidence=(Evidence("the message", request.failed.line), Evidence("the parameters", line)),
        remedies=_FOR_PARAMETERS,
        moment=index,
        rules_out=("smaller-batch", "recompute", "in-blocks", "compare-shapes", "subsampling"),
    )


_FLOAT = 4
_FOR_PARAMETERS = (
    Remedy(
        "if there are fewer residuals (samples) than parameters: solve for these, which with damping is the"
        " same step",
        "step = J.T @ jnp.linalg.solve(J @ J.T + lam * jnp.eye(len(r)), r)   # J: residuals x parameters",
        slug="dual-form",
    ),
    Remedy(
        "or solve by conjugate gradients, which take products with vectors and never make the matrix",
        "r, pull = jax.vjp(f, w)   # f gives the residuals\n"
        "product = lambda v: pull(jax.jvp(f, (w,), (v,))[1])[0] + lam * v\n"
        "step, _ = jax.scipy.sparse.linalg.cg(product, pull(r)[0], maxiter=50)",
        slug="hessian-products",
    ),
    Remedy("or keep its diagonal, or a block for each layer", slug="diagonal-guide"),
)


def side_of_hessian(request: Request) -> int | None:
    """The rows of the Hessian that the failing line makes; None where it makes none."""
    need = request.needed_bytes
    if need is None or not _CALL.search(request.failed.source_text or ""):
        return None
    return square_side(need, 4) or square_side(need, 8)
