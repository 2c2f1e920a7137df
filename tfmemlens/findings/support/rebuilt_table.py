"""A table of embeddings that the program puts together anew in each step: a row of zeros and the rest."""

from __future__ import annotations

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.case import Case, Request
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_REBUILDS = regex(
    r"\b(?P<name>\w{1,60}) ?= ?(?:tf\.)?(?:concat|concatenate)\([^\n]{0,200}?"
    r"(?:\bzeros(?:_like)?\([^\n]{1,120}?\b(?P<table>\w{1,60})\[1:"
    r"|\b(?P<first>\w{1,60})\[:-1[^\n]{0,80}\bzeros)"
)
_LEAST_ROWS, _OF_A_TABLE = 1024, 2


def rebuilt_table(case: Case, request: Request) -> Line | None:
    """The line that does so, where what failed is as large as the whole table and no first value of it."""
    failed = request.failed
    shape = failed.shape or ()
    if len(shape) != _OF_A_TABLE or failed.creating or "Initializer" in (failed.node or ""):
        return None
    if (shape[0] or 0) < _LEAST_ROWS:
        return None
    found = [line for line in code_lines(case.capture.surroundings) if _REBUILDS.search(line.text)]
    return max(found, key=lambda line: bool(line.source), default=None)
