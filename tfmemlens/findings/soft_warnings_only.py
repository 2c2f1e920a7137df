"""`The caller indicates that this is not a failure`: TensorFlow did without.

What it means: cuDNN offered an algorithm that wanted a big workspace; it could not be had, and a slower one
with less was taken. The line is printed at most ten times per process. It is no cause of a crash.
When it fires: the log has such lines. Without a real failure they are the whole story; beside one they are a
hint that memory was scarce.
What to do: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.units import human_size

BASIS = Basis.FIGURES
EXPLAINS = "no bytes"


def check(case: Case) -> Iterator[Finding]:
    soft = case.capture.surroundings.soft_warnings
    if not soft:
        return
    largest = max(soft, key=lambda warning: warning.size.bytes)
    alone = not case.moments
    text = (
        f"{len(soft)} warning{'s' if len(soft) > 1 else ''} that an allocation failed harmlessly, the largest"
        f" for {human_size(largest.size)}"
    )
    yield Finding(
        severity=Severity.FACTOR if alone else Severity.NOTE,
        headline=f"{text}: no failure, TensorFlow chose a slower plan with less workspace" if alone else text,
        evidence=(Evidence("the largest of them", largest.line),),
    )
