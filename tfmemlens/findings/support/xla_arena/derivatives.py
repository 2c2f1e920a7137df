"""A compiled program whose largest buffers are rows of a matrix of derivatives that it asks for."""

from __future__ import annotations

from tfmemlens.findings.support.main_buffers import Buffers
from tfmemlens.findings.support.rows import Row, rows
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex
from tfmemlens.units import human

_MAPPED = regex(r"vmap\((?:transpose\()?jvp\(")
"""A derivative along each of many directions, as `hessian`, `jacfwd` and `jacrev` compute it; the user's own
vmap of a gradient has these names, too, so that the program must call one of them.
"""
_MOST = 0.5
_FEWEST_DIRECTIONS = 16


def rows_of_derivatives(case: Case, moment: Moment) -> Buffers | None:
    """The buffers, with the line that makes all rows at once; None where names, shapes or the program speak
    for something else.
    """
    if framework_of(case) != JAX:
        return None
    listed = rows(moment, lambda row: row.allocation.purpose != "parameter" and bool(row.allocation.shape))
    mine = [row for row in listed if _MAPPED.search(row.allocation.node or "")]
    held = sum(row.allocation.total_bytes for row in mine)
    if not mine or held < _MOST * sum(row.allocation.total_bytes for row in listed):
        return None
    from tfmemlens.findings.support.jax_program import derivatives_by_program  # reads trees

    made = derivatives_by_program(case.capture.surroundings)
    if made is None or made.line is None or not made.what.startswith("all rows"):
        return None
    matrix = "Hessian" if "Hessian" in made.what else "Jacobian"
    many = _directions(moment, mine)
    each = f"one for each of {many:,} numbers" if many else "one for each number that it is differentiated by"
    first, *others = sorted(mine, key=lambda row: -row.allocation.total_bytes)
    more = f", and {len(others)} more" if others else ""
    shape = f"{format_shape(first.allocation.shape)} {first.allocation.dtype or ''}".strip()
    return Buffers(
        f"rows of the {matrix} of {made.line.place}, all computed at once, {each}",
        f"{shape} of {human(first.allocation.total_bytes)}{more}",
        held,
        made.remedies,
        recompute=False,
        batch=False,
    )


def _directions(moment: Moment, mine: list[Row]) -> int | None:
    """The numbers of a flat argument, where one dimension of most of the buffers is a multiple of them."""
    given = rows(moment, lambda row: row.allocation.purpose == "parameter")
    shapes = [row.allocation.shape or () for row in given]
    flat = {shape[0] or 0 for shape in shapes if len(shape) == 1}
    whole = sum(row.allocation.total_bytes for row in mine)
    for many in sorted(flat, reverse=True):
        if many < _FEWEST_DIRECTIONS:
            break
        fits = [row for row in mine if any(not (side or 1) % many for side in row.allocation.shape or ())]
        if sum(row.allocation.total_bytes for row in fits) >= _MOST * whole:
            return many
    return None
