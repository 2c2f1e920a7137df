"""The training step of the program's own model as it is predicted, where a failure can be held to it."""

from __future__ import annotations

from tfmemlens.findings.support.phase import other_than_training
from tfmemlens.findings.support.rows import attributed, index_of
from tfmemlens.findings.support.situation import TENSORFLOW, situation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.what_if import FailureForecast, StepForecast
from tfmemlens.units import human


def predicted_failure(case: Case, moment: Moment) -> FailureForecast | None:
    """What the step that failed is predicted to need: None where nothing shows that a model that described
    itself was being trained, and where names tell who holds the memory.
    """
    request, live = moment.request, case.capture.live_model
    if request is None or live is None or live.description is None or attributed(moment):
        return None
    run = situation(case, moment)
    if run.framework != TENSORFLOW or run.training is False or other_than_training(case, request):
        return None
    if not _of_the_model(case, request):
        return None
    return case.predicted(index_of(case, moment))


def predicted_below(case: Case, moment: Moment, batch: int | None) -> StepForecast | None:
    """The step at a smaller batch than the one that failed, where it is predicted to fit."""
    predicted = predicted_failure(case, moment)
    smaller = predicted.smaller if predicted else None
    return smaller if smaller and batch and smaller.batch < batch else None


def of_predicted(step: StepForecast) -> str:
    """What a step needs by its prediction."""
    return f"a step is predicted to need {human(step.peak_bytes)} then, at most {human(step.high_bytes)}"


def _of_the_model(case: Case, request: Request) -> bool:
    """Whether `fit` ran, or a layer of the program's models failed in what is known to be training."""
    if request.failed.keras_call in ("fit", "train_on_batch"):
        return True
    live, layer = case.capture.live_model, request.owner.layer
    trains = situation(case, case.moments[0]).training is True
    return bool(live and layer and trains and layer in dict(live.layers))
