"""Lines near the failure look like its cause and are not.

What it means: Grappler's `layout failed`, a memory optimizer that gave up, or a garbage collection of free regions are printed seconds before
many an OOM. They are warnings of their own; people search for them in vain.
When it fires: such lines stand in a log that also has a failure.
What to do: ignore them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Evidence, Finding, Severity


def check(case: Case) -> Iterator[Finding]:
    if not case.moments:
        return
    for what, count, line in case.capture.surroundings.harmless:
        yield Finding(
            severity=Severity.NOTE, headline=f"not the cause: {what}{f' ({count} lines)' if count > 1 else ''}", evidence=(Evidence("the line", line),)
        )
