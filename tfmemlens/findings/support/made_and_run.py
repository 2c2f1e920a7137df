"""A line of a session's program that makes the op that it runs."""

from __future__ import annotations

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.case import Case
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

MAKES_AND_RUNS = regex(
    r"\.run\(\s*\[?\s*tf\.(?:compat\.v1\.|v1\.)?(?!\w*initialize)(?P<op>[a-z][\w.]*)\("
    r"|\btf\.(?:compat\.v1\.|v1\.)?(?!\w*initialize)(?P<evaluated>[a-z][\w.]*)\([^=]{0,200}\)\.eval\("
)


def makes_and_runs(case: Case) -> Line | None:
    """A quoted line that makes the op that it runs."""
    lines = code_lines(case.capture.surroundings)
    return next((line for line in lines if MAKES_AND_RUNS.search(line.text)), None)
