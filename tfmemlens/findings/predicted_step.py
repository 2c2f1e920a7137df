"""A training step of the program's own model is predicted to need more than the limit.

What it means: a dump has sizes and no names, but the program kept the description of its model, and by it the
step's memory is worked out as `tfmemlens estimate` does: whichever tensor failed, the step as a whole is too
large. Nothing of it was measured.
When it fires: a bundle of `tfmemlens run` or of a callback has the model's description and the batch that
failed, no step was traced, the model was being trained, and the prediction is above the limit. Where the
lower end of its bar is not, it is worded as most likely.
What to do: the batch that the prediction says to fit, half precision, recomputation, a smaller input of
images; a lighter optimizer where weights and slots fill half of the limit. The layers that hold most are
named.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.predicted import predicted_failure
from tfmemlens.findings.support.rows import enumerated, requests
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.live_model import LiveModel
from tfmemlens.model.what_if import StepForecast
from tfmemlens.units import human

BASIS = Basis.FIGURES
EXPLAINS = "what the step is predicted to need, at most the limit"

_NAMED, _TOLD = 2, 5


def check(case: Case) -> Iterator[Finding]:
    for index, moment, _ in list(requests(case))[:1]:
        limit, predicted = moment.balance.limit, predicted_failure(case, moment)
        if limit is None or predicted is None or predicted.failed.peak_bytes <= limit.bytes:
            continue
        step = predicted.failed
        sure = "" if step.low_bytes > limit.bytes else "most likely "
        bar = f"{human(step.low_bytes)} to {human(step.high_bytes)}"
        what = (
            f"{sure}a training step of `{predicted.model}` at batch {step.batch:,} is too large as a whole:"
            f" it is predicted to need {human(step.peak_bytes)} ({bar}){_most(step)}; the limit is"
            f" {human(limit.bytes)}"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            detail=(
                "Worked out from the description that the model gave of itself when it failed, as"
                " `tfmemlens estimate` does; nothing of it was measured. What else the program holds comes on"
                " top."
            ),
            explains=min(step.peak_bytes, limit.bytes),
            evidence=tuple(
                Evidence(f"predicted at the peak: {layer} {human(size)}")
                for layer, size in step.layers[:_TOLD]
            ),
            remedies=remedies.offered(case, moment, *_changes(case.capture.live_model, limit.bytes)),
            moment=index,
        )


def _changes(model: LiveModel | None, limit: int) -> Iterator[str]:
    """What makes the step smaller: where weights and slots fill half of the limit, activations are not what
    to begin with; height and width are those of a net that has convolutions.
    """
    variables = model.variables if model else ()
    if 2 * sum(each.tensor.bytes or 0 for each in variables) >= limit:
        yield from ("lighter-optimizer", "smaller-batch")
        return
    yield from ("smaller-batch", "mixed-precision", "recompute")
    if not variables or any(len(each.tensor.shape or ()) >= _OF_A_CONVOLUTION for each in variables):
        yield "smaller-input"


_OF_A_CONVOLUTION = 4
"""So many axes a kernel has that goes over height and width."""


def _most(step: StepForecast) -> str:
    """The layers that hold most of it."""
    named = [f"`{layer}` ({human(size)})" for layer, size in step.layers[:_NAMED]]
    return f", most in {enumerated(named)}" if named else ""
