"""The program printed what it holds, and the figure rises from reading to reading.

What it means: `tf.config.experimental.get_memory_info` counts the tensors that are alive. Between two steps
only weights, slots and what the program keeps are; if that rises again and again, something keeps tensors.
When it fires: at least three printed readings of `current`, or of a step's own line (`step 20 gpu_mem 5.1
GB`), each above the one before.
What to do: find what keeps tensors between the readings: lists of losses, a metric, a function traced anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tfmemlens.findings.support.situation import JAX, framework_of
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
    stores = case.capture.surroundings.stores
    keeps = (
        f"most likely the list `{stores[0]}`, which keeps results" if stores else "something keeps tensors"
    )
    name, value = (stores[0], "result") if stores else ("losses", "loss")
    jax = framework_of(case) == JAX
    number = f"{name}.append(jax.device_get({value}))" if jax else f"{name}.append({value}.numpy())"
    yield Finding(
        severity=Severity.CAUSE if case.moments else Severity.FACTOR,
        headline=f"{what}, about {human(each)} from one to the next: {keeps}",
        because=f"{what}: {keeps}",
        explains=_grown(case),
        evidence=(
            Evidence("the first reading", at),
            Evidence("the last reading", end),
            *((Evidence(f"`{stores[0]}` keeps what is added", stores[1]),) if stores else ()),
        ),
        remedies=(
            Remedy(
                "keep numbers, not tensors, between steps",
                f"{number}   # a loss: float(loss)",
                slug="keep-numbers",
            ),
        ),
    )


def _grown(case: Case) -> int:
    """What was added: from the first reading to the last, and as much for each step before, where the steps
    of the readings are counted on and the rate is even.
    """
    readings = case.capture.surroundings.readings
    (first, _), (last, _) = readings[0], readings[-1]
    steps_at = {(line.source, line.number): step for step, line in case.capture.surroundings.steps}
    steps = [steps_at.get((line.source, line.number)) for _, line in readings]
    counted = [step for step in steps if step is not None]
    if len(counted) < len(readings) or any(one >= other for one, other in pairwise(counted)):
        return last - first
    return min(last, (last - first) * counted[-1] // (counted[-1] - counted[0]))
