"""The program printed what it holds, and the figure rises from reading to reading.

What it means: `tf.config.experimental.get_memory_info` counts the tensors that are alive. Between two steps
only weights, slots and what the program keeps are; if that rises again and again, something keeps tensors.
When it fires: at least three printed readings of `current`, each above the one before.
What to do: find what keeps tensors between the readings: lists of losses, a metric, a function traced anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.MEASURED
EXPLAINS = "the growth from the first reading to the last"
_LEAST = 3


def check(case: Case) -> Iterator[Finding]:
    readings = case.capture.surroundings.readings
    if len(readings) < _LEAST or not all(one[0] < other[0] for one, other in pairwise(readings)):
        return
    (first, at), (last, end) = readings[0], readings[-1]
    each = (last - first) // (len(readings) - 1)
    what = f"memory in use rose from {human(first)} to {human(last)} over {len(readings)} readings"
    yield Finding(
        severity=Severity.FACTOR,
        headline=f"{what}, about {human(each)} from one to the next: something keeps tensors",
        because=f"{what}, so something keeps tensors",
        explains=last - first,
        evidence=(Evidence("the first reading", at), Evidence("the last reading", end)),
        remedies=(
            Remedy(
                "keep numbers, not tensors, between steps",
                "losses.append(float(loss))   # not losses.append(loss)",
                slug="keep-numbers",
            ),
        ),
    )
