"""The run went well for a while and failed later.

What it means: the first step fitted, so the model fits; something is larger later. Either a batch was bigger
(longer sequences, the last odd batch, an evaluation), or memory grows from step to step: tensors kept in a
Python list, ops added to the graph in the loop, a tf.function retraced for every new shape.
When it fires: the log counts at least two steps or epochs before the failure, or shows the in-use figure rise
from failure to failure.
What to do: compare the failing shape with the usual ones; if it is usual, look for growth.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.growth import rising
from tfmemlens.findings.support.rows import failures, held, rows
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human

BASIS = Basis.NAME
EXPLAINS = "the growth from the first failure to the last"

_REMEDIES = (
    Remedy(
        "compare the failing shape with the shapes of earlier batches; cap or bucket the lengths if it is"
        " longer",
        slug="compare-shapes",
    ),
    Remedy(
        "make sure that the loop adds no ops: freeze the graph before it, and whoever adds one gets an error",
        "tf.get_default_graph().finalize()",
        slug="finalize-graph",
    ),
    Remedy(
        "keep numbers, not tensors, between steps",
        "losses.append(float(loss))   # not losses.append(loss)",
        slug="keep-numbers",
    ),
    Remedy(
        "a tf.function is traced anew for every new shape or Python value; give it one signature",
        "@tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])",
        slug="one-signature",
    ),
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in list(failures(case))[:1]:
        assert moment.request
        before = [
            (step, line)
            for step, line in case.capture.surroundings.steps
            if moment.request.failed.line is None
            or line.source != moment.request.failed.line.source
            or line.number < moment.request.failed.line.number
        ]
        rose = rising(case)
        eager = rows(
            moment, lambda row: (row.allocation.node or "").startswith(("_EagerConst", "__wrapped__"))
        )
        if rose is None and len({step for step, _ in before}) < 2:
            continue
        last, line = before[-1] if before else (0, moment.request.failed.line)
        headline = (
            f"the run failed after step or epoch {last}, not at the first"
            if before
            else f"memory in use rose from failure to failure, to {human(rose[-1] if rose else 0)}"
        )
        yield Finding(
            severity=Severity.CAUSE if rose is not None else Severity.FACTOR,
            headline=f"{headline}: a bigger batch, or something that grows",
            because=f"{headline}, so either this batch was bigger or memory grows from step to step",
            explains=rose[-1] - rose[0] if rose else None,
            basis=Basis.MEASURED if rose else None,
            evidence=(
                Evidence("steps before the failure" if before else "the failure", line),
                *(
                    Evidence(f"held by eager tensors: {human(held(moment))}", row.allocation.line)
                    for row in eager[:1]
                ),
            ),
            remedies=_REMEDIES,
            moment=index,
        )
