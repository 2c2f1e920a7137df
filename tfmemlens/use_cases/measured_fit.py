"""The largest batch of a model by real steps under the limit, beside what is predicted of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tfmemlens import pipeline
from tfmemlens.errors import MissingExtra, Unpredictable, UnreadableInput, UsageError
from tfmemlens.estimation.possible_step import check_is_possible
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.fit import Fit, TriedBatches
from tfmemlens.model.line import ReadNote
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers import keras_models
from tfmemlens.recording import tried_batches
from tfmemlens.units import human
from tfmemlens.use_cases.fit import fit_report, settled
from tfmemlens.values import replace

CPU_NOTE = (
    "tried on a CPU, with random inputs and the allocator's limit as asked: a GPU runs other kernels with"
    " other workspaces, so the batch is no bound there"
)
_FIRST_BATCH = 32


def measured_report(
    sources: Sequence[pipeline.Input],
    hints: Hints,
    settings: StepSettings = StepSettings(),
    python: str | None = None,
    seconds: int = 300,
) -> Report:
    """The report on a model whose steps were run at several batches under the limit of the hints, for so many
    seconds at most, by a `python` that has TensorFlow.

    Raises UsageError without a limit, for several inputs, and for a limit that this machine cannot give;
    UnreadableInput for what is no model and where its steps do not run, MissingExtra without TensorFlow.
    """
    model, asked = _model_of(sources), settled(settings, hints)
    if asked.limit_bytes is None:
        raise UsageError("--measure tries batches under a limit", "add --limit, such as --limit 300MiB")
    check_is_possible(asked)
    try:
        report = fit_report([model], hints, settings=settings)
    except (Unpredictable, UnreadableInput, UsageError, MissingExtra) as refused:
        report = _without_a_prediction(model, refused.sentence)
    start = (report.fit and report.fit.largest_batch) or hints.batch or _FIRST_BATCH
    tried = tried_batches.record(model, asked, start, python, seconds, _likely(report.fit))
    fit = with_trials(report.fit or _only_tried(tried), tried)
    capture = report.case.capture
    capture = replace(capture, notes=(ReadNote(CPU_NOTE), *capture.notes))
    verdict = _verdict(tried, asked.samples, report.fit)
    return replace(report, fit=fit, verdict=verdict, case=replace(report.case, capture=capture))


def _model_of(sources: Sequence[pipeline.Input]) -> str:
    """The one model that is asked about. Raises UsageError, UnreadableInput for what is none."""
    if len(sources) != 1 or not isinstance(sources[0], str | os.PathLike):
        raise UsageError("--measure runs the steps of one model", "give one model's file or module:function")
    model = os.fspath(sources[0])
    if not keras_models.is_spec(model):
        keras_models.read(model)
    return model


def _likely(predicted: Fit | None) -> tuple[int, int]:
    """Between which batches the search begins; zeros where nothing is known."""
    if predicted is None:
        return 0, 0
    least = predicted.likely_low_batch or predicted.sure_batch or 0
    return least, predicted.likely_high_batch or 0


def _without_a_prediction(model: str, why: str) -> Report:
    source = Source(model, ("keras-model",), "tensorflow", holds=Holds.MODEL)
    return pipeline.report(Capture(source, notes=(ReadNote(f"not predicted: {why}"),)))


def _only_tried(tried: TriedBatches) -> Fit:
    """A fit of which nothing is known but what was tried."""
    largest = tried.largest
    peak = max((each.peak_bytes or 0 for each in tried.tried if each.batch == largest), default=0)
    return Fit(largest, "the trial", peak, largest, 0, 0, tried.limit_bytes, tried=tried)


def with_trials(fit: Fit, tried: TriedBatches) -> Fit:
    """The fit with the largest batch that ran in place of the predicted one; how far a change reaches is not
    known from there.
    """
    failed = tried.smallest_failed
    return replace(
        fit,
        largest_batch=tried.largest,
        sure_batch=tried.largest,
        likely_low_batch=tried.largest,
        likely_high_batch=None if failed is None else failed - 1,
        savings=tuple(replace(each, largest_batch=None) for each in fit.savings),
        tried=tried,
    )


def _verdict(tried: TriedBatches, samples: int | None, predicted: Fit | None) -> str:
    """What ran, where, and what had been predicted."""
    low, failed = tried.largest, tried.smallest_failed
    limit, where = human(tried.limit_bytes), f"TensorFlow {tried.tensorflow} on this machine's CPU"
    steps = f"{tried.steps} steps of batch {low} ran {_often(tried, low)}"
    if tried.found and not low:
        told = f"Not even one sample fits into {limit}: a step of batch 1 ran out of memory"
    elif tried.found and failed is None:
        all_of_them = f"all {samples} samples in one batch" if samples else f"a batch of {low}"
        told = f"Even {all_of_them} fit into {limit}: {steps}"
    elif tried.found:
        told = f"{_samples(low)} into {limit}: {steps}, of batch {failed} {_did_not(tried, failed)}"
    elif failed is None:
        after = "" if tried.stopped else ", and no larger batch was tried in time"
        told = f"At least {low} fit into {limit}: {steps}{after}"
    elif not low:
        told = f"Fewer than {failed} fit into {limit}: batch {failed} did not run, and time was over then"
    else:
        fails = _did_not(tried, failed)
        told = f"Between {low} and {failed - 1} fit into {limit}: {steps}, of batch {failed} {fails}"
    before = predicted.largest_batch if predicted else None
    rest = "" if before is None else f" {before} {'was' if before == 1 else 'were'} predicted."
    use = _only_tried(tried).use_batch
    room = (
        f" Use {use}: batches at the edge run in one process and fail in the next." if use and failed else ""
    )
    stopped = f" Then the search ended: {tried.stopped}." if tried.stopped else ""
    return f"{told} ({where}).{stopped}{_of_gaps(tried)}{room}{rest}"


def _of_gaps(tried: TriedBatches) -> str:
    """That smaller batches did not run."""
    if not tried.gaps:
        return ""
    several = len(tried.gaps) > 1
    which = f"{', '.join(map(str, tried.gaps[:-1]))} and {tried.gaps[-1]}" if several else str(tried.gaps[0])
    return (
        f" Batch{'es' if several else ''} {which} did not run each time, though"
        f" {'they are' if several else 'it is'} smaller: where the tensors of a batch come to lie in the"
        " allocator's pool decides here."
    )


def _often(tried: TriedBatches, batch: int) -> str:
    ran, of = tried.times(batch)
    return f"in {ran} of {of} processes" if of > 1 else "in one process"


def _did_not(tried: TriedBatches, batch: int | None) -> str:
    """That steps of a batch do not run, or not each time."""
    ran, of = tried.times(batch or 0)
    return f"in {ran} of {of}" if ran else "they did not"


def _samples(count: int) -> str:
    return "1 sample fits" if count == 1 else f"{count} samples fit"
