"""It failed in evaluation or prediction, not in a training step.

What it means: Keras runs validation with `test_function` and prediction with `predict_function`, Estimators
say that they start an evaluation. The batch that failed is one of the other data set, and the optimizer plays
no part; the weights and slots of the training stay all the while.
When it fires: the failing function is one of these, or the log begins an evaluation and does not end it.
What to do: a smaller batch for that data set.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import requests
from tfmemlens.model.case import Case, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.line import Line

BASIS = Basis.NAME
EXPLAINS = "no bytes"

_FUNCTIONS = {"test_function": "evaluation", "predict_function": "prediction"}
_REMEDIES = {
    "evaluation": Remedy(
        "use a smaller batch for evaluation; the training batch may stay",
        "model.fit(..., validation_batch_size=8)   # or batch the validation set itself",
        slug="smaller-evaluation-batch",
    ),
    "prediction": Remedy(
        "use a smaller batch for prediction",
        "model.predict(x, batch_size=8)",
        slug="smaller-prediction-batch",
    ),
}


def check(case: Case) -> Iterator[Finding]:
    for index, _, request in list(requests(case))[:1]:
        shown = _phase(case, request)
        if shown is None:
            continue
        phase, line = shown
        shape = request.failed.shape
        first = f", with {shape[0]} as the first dimension of what was requested" if shape else ""
        yield Finding(
            severity=Severity.FACTOR,
            headline=f"it failed in {phase}, not in a training step{first}",
            because=f"it failed in {phase}, whose batch is not the training's",
            evidence=(Evidence(f"the run was in {phase}", line), *_trained(case, request)),
            remedies=(_REMEDIES[phase],),
            moment=index,
        )


def _phase(case: Case, request: Request) -> tuple[str, Line | None] | None:
    function = request.failed.function or ""
    named = next((phase for name, phase in _FUNCTIONS.items() if f"_{name}_" in f"{function}_"), None)
    if named:
        return named, request.failed.line
    evaluating = case.capture.surroundings.evaluating
    return ("evaluation", evaluating) if evaluating else None


def _trained(case: Case, request: Request) -> Iterator[Evidence]:
    at = case.capture.surroundings.progress_before(request.failed.line)
    if at and at.step is not None and at.step == at.steps:
        yield Evidence(f"{at.step} of {at.steps} training steps had passed", at.line)
