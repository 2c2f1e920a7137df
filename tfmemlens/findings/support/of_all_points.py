"""Square matrices that a method needs whole: the covariance of a Gaussian process."""

from __future__ import annotations

from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.units import MIB

_FEWEST, _LEAST_BYTES = 1024, 64 * MIB


def points_of_a_process(case: Case, request: Request) -> tuple[int, Line] | None:
    """How many points a Gaussian process of the text has, where what failed is its matrix of all points with
    all points, and the line that names it.
    """
    line = case.capture.surroundings.shows("an exact Gaussian process")
    shape, need = request.failed.shape or (), request.failed.tensor_bytes
    if line is None or framework_of(case) != TENSORFLOW or not need or need < _LEAST_BYTES or len(shape) < 2:
        return None
    points = shape[-1] or 0
    return (points, line) if points == shape[-2] and points >= _FEWEST else None
