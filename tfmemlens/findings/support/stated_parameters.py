"""A number of parameters that the text states, and whose square a request is."""

from __future__ import annotations

from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.findings.support.stated_sizes import stated_square
from tfmemlens.model.case import Case
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex


def of_stated_parameters(case: Case, need: int | None) -> tuple[int, str, Line] | None:
    """The number of parameters whose square is the request, its type and its line, as the text states it."""
    stated = stated_square(need, case.capture.surroundings.sizes) if need else None
    if stated is None or framework_of(case) != JAX:
        return None
    near = regex(rf"(?i){_PARAMETERS}\W{{0,4}}{_digits(stated[0])}|{_digits(stated[0])} {{0,2}}{_PARAMETERS}")
    return stated if near.search(stated[2].text) else None


_PARAMETERS = (
    r"(?:\b|_)(?:trainable |model )?(?:params?|parameters|weights|unknowns|coefficients|dofs?)\b(?: count)?"
)


def _digits(number: int) -> str:
    return rf"(?<![\d,.])(?:{number}|{number:,})(?![\d,]*\d)"
