"""From a measured step to any batch: reads it, finds what grows, and reports the largest batch that fits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

from tfmemlens import attribution, pipeline
from tfmemlens.errors import Contradiction, Unpredictable, UnreadableInput, UsageError
from tfmemlens.estimation.graph_step.capture import has_open_batch
from tfmemlens.estimation.possible_step import check_is_possible
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.fit import BatchPrediction, Fit
from tfmemlens.model.line import ReadNote
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.what_if import Saving
from tfmemlens.units import human, percent, rough
from tfmemlens.use_cases.estimate import estimate, estimate_graph
from tfmemlens.values import replace
from tfmemlens.what_if.failure import of_failure
from tfmemlens.what_if.largest_batch import FitBasis, error_share, fit, predict
from tfmemlens.what_if.savings import ranked_savings
from tfmemlens.what_if.step import of_moment

RECORDING_HINT = (
    "trace one step at a batch that fits (see `tfmemlens profile --help`), or give an OOM report with"
    " `--batch`"
)


def fit_report(
    sources: Sequence[pipeline.Input],
    hints: Hints = Hints(),
    device: str | None = None,
    fetches: Sequence[str] = (),
    settings: StepSettings = StepSettings(),
) -> Report:
    """The report on the first source, with its fit; the other sources are steps at other batches that check
    it.

    A model or a graph instead of a measured step is predicted at `hints.batch` first, as `settings` says
    beside batch and limit, with the fetches given.

    Raises UnreadableInput when there is no step to fit, UsageError when its batch cannot be known,
    Contradiction when the inputs disagree, or the largest batch with a batch that was measured.
    """
    settings = settled(settings, hints)
    check_is_possible(settings)
    captures = [_captured(source, hints, device, fetches, settings) for source in sources]
    known = [
        known_of(capture, hints if index == 0 else replace(hints, batch=None), settings.l3_bytes)
        for index, capture in enumerate(captures)
    ]
    best = max(range(len(known)), key=lambda index: (known[index].complete, known[index].step.batch))
    chosen = _asked_again(known[best], captures[best], sources[best], settings, fetches)
    checks = tuple(_check(chosen, other) for index, other in enumerate(known) if index != best)
    names = [_name(source) for source in sources]
    rest = [index for index in range(len(known)) if index != best]
    for check, index in zip(checks, rest, strict=True):
        _check_they_agree(check, names[best], names[index], chosen, known[index])
    result = fit(chosen)
    _check_what_was_measured_fits(result, chosen)
    result = replace(result, savings=_savings(chosen, result), checks=checks)
    report = pipeline.report(captures[best])
    return replace(report, fit=result, verdict=verdict(result, chosen))


def settled(settings: StepSettings, hints: Hints) -> StepSettings:
    """The settings of a prediction with what the hints say of batch, limit and input."""
    told = StepSettings.of(hints)
    return replace(
        settings, batch=told.batch, limit_bytes=told.limit_bytes, inputs=settings.inputs or told.inputs
    )


def _check_they_agree(
    check: BatchPrediction, chosen: str, other: str, known: FitBasis, another: FitBasis
) -> None:
    """Raises Contradiction where what follows from the chosen step and what another one shows are further
    apart than both their bars reach.
    """
    seen, share = another.step.timeline.peak_bytes, error_share(another.step)
    too_low = check.high_bytes < (seen * (1 - share) if another.complete else seen)
    too_high = another.complete and check.low_bytes > seen * (1 + share)
    if not known.complete or not (too_low or too_high):
        return
    leads = human(check.low_bytes)
    leads += f" to {human(check.high_bytes)}" if check.high_bytes > check.low_bytes else ""
    raise Contradiction(
        f"the inputs disagree: {other} needs {human(seen)} at batch {check.batch}, and {chosen} (batch"
        f" {known.step.batch}) leads to {leads} there",
        "are both steps of one program on one machine? If so, give the one at the larger batch alone",
    )


def _check_what_was_measured_fits(result: Fit, known: FitBasis) -> None:
    """Raises Contradiction where a batch whose measured peak is below the limit is said not to fit."""
    limit, most = result.limit_bytes, result.largest_batch
    if limit is None or most is None or not known.complete or result.predicted:
        return
    if result.peak_bytes <= limit and most < result.batch:
        raise Contradiction(
            f"batch {result.batch} was measured at {human(result.peak_bytes)}, which {human(limit)} holds,"
            f" but its simulation finds room for no more than {most}",
            "the limit is too near to the peak for an answer: trace a smaller batch, or give the exact limit",
        )


def _name(source: pipeline.Input) -> str:
    return os.path.basename(str(source)) if isinstance(source, str | os.PathLike) else "an input"


def _captured(
    source: pipeline.Input, hints: Hints, device: str | None, fetches: Sequence[str], settings: StepSettings
) -> Capture:
    """A measured step, a failure, or a step predicted from a graph or a model."""
    try:
        capture = pipeline.timelines(source, replace(hints, types=True), device)
    except UnreadableInput as unreadable:
        try:
            return estimate(source, settings)
        except UnreadableInput:
            raise unreadable from None
    if capture.timelines and capture.live_model is not None and capture.live_model.failed_step:
        capture = replace(pipeline.capture(source, replace(hints, types=True)), timelines=())
    if capture.incidents and not capture.timelines:
        listed = any(incident.holders for incident in capture.incidents)
        return (None if listed else _as_described(capture, settings, hints)) or capture
    if capture.timelines or capture.graph is None:
        return capture if capture.timelines else _of_model(source, settings) or capture
    return estimate_graph(source, settings, fetches)


def _as_described(capture: Capture, settings: StepSettings, hints: Hints) -> Capture | None:
    """The step of a program that failed before one could be traced, predicted from the model as it described
    itself then, at the batch that failed and under the limit that it met.
    """
    live, state = capture.live_model, capture.incidents[0].state
    network = pipeline.recorded_network(live)
    if live is None or network is None:
        return None
    try:
        met = state.limit.bytes if state.limit else None
        asked = replace(
            settings,
            batch=(hints.batch and settings.batch) or live.failed_batch or live.batch or settings.batch,
            limit_bytes=settings.limit_bytes or met,
        )
        predicted = estimate(network, asked)
    except (UnreadableInput, UsageError, Unpredictable):
        return None
    note = ReadNote("no step was traced: this one is predicted from the model that the program had")
    return replace(predicted, network=network, notes=(note, *predicted.notes))


def _asked_again(
    known: FitBasis,
    capture: Capture,
    source: pipeline.Input,
    settings: StepSettings,
    fetches: Sequence[str],
) -> FitBasis:
    """With a way to predict the step anew at any batch, where the source is a model, or a graph that leaves
    the batch open.
    """
    if not known.step.timeline.predicted:
        return known
    is_model = capture.graph is None
    if capture.graph is not None and not has_open_batch(capture.graph):
        return known

    limit = settings.limit_bytes or capture.hints.limit_bytes

    @cache
    def repredict(batch: int) -> FitBasis:
        samples = settings.samples and max(settings.samples, batch)
        other = replace(settings, batch=batch, samples=samples, limit_bytes=limit)
        model = capture.network or source
        again = estimate(model, other) if is_model else estimate_graph(source, other, fetches)
        return known_of(again, Hints(batch=batch, limit_bytes=limit))

    return replace(known, repredict=repredict)


def _savings(known: FitBasis, result: Fit) -> tuple[Saving, ...]:
    """What each change saves at the fitted batch, and how far it then reaches: from the step at the largest
    batch where that can be asked for.
    """
    bought = ranked_savings(known)
    if known.repredict is None or not result.largest_batch:
        return bought
    far = {each.change: each.largest_batch for each in ranked_savings(known.repredict(result.largest_batch))}
    return tuple(replace(each, largest_batch=far.get(each.change) or each.largest_batch) for each in bought)


def _of_model(source: pipeline.Input, settings: StepSettings) -> Capture | None:
    """A model's description is text like a log, so it is asked for where a log says nothing."""
    try:
        return estimate(source, settings)
    except UnreadableInput:
        return None


def known_of(capture: Capture, hints: Hints, l3_bytes: int | None = None) -> FitBasis:
    """What a capture knows of one step: a traced one, else the failure that matters most."""
    case = attribution.attribute(capture)
    if capture.timelines:
        moment = next(moment for moment in case.moments if moment.timeline)
        return of_moment(capture, moment, hints, l3_bytes)
    moments = [moment for moment in case.moments if len(moment.attribution.table)]
    if not moments:
        raise UnreadableInput(f"{capture.source.path} holds no measured step", RECORDING_HINT)
    return of_failure(moments[0], hints)


def _check(known: FitBasis, other: FitBasis) -> BatchPrediction:
    measured = other.step.timeline.peak_bytes
    return replace(predict(known.step, other.step.batch), measured_bytes=measured)


def verdict(result: Fit, known: FitBasis) -> str:
    """The answer in one sentence."""
    remark = f" {known.remark}." if known.remark else ""
    measured = (
        f"batch {result.batch} {'needs' if known.complete else 'wanted at least'} {human(result.peak_bytes)}"
    )
    grows = _growth(result, known.complete)
    if result.limit_bytes is None:
        return f"{measured[:1].upper()}{measured[1:]}: {grows}.{remark}"
    if not result.largest_batch:
        return f"Not even one sample fits into {human(result.limit_bytes)}: {measured}, {grows}.{remark}"
    if not known.complete:
        return f"At most {_samples(result)} into {human(result.limit_bytes)}: {measured}, {grows}.{remark}"
    advice = _advice(result, result.limit_bytes, result.largest_batch)
    return f"{advice}. {measured[:1].upper()}{measured[1:]}, {grows}.{remark}"


def _advice(result: Fit, limit: int, most: int) -> str:
    """The batch to use, the largest that fits, and above which one it most likely fails."""
    use, low, high, into = result.use_batch, result.likely_low_batch, result.likely_high_batch, human(limit)
    fails = (
        ""
        if high is None or high <= most
        else f", likely {low or 1} to {high}; above that it most likely fails"
    )
    if use is None or use >= most:
        return f"About {_samples(result)} into {into}{fails}"
    if not use:
        return f"No batch is sure to fit into {into}. About {most} may{fails}"
    left = percent(max(limit - (result.use_peak_bytes or 0), 0), limit)
    return f"Use batch {use}, which leaves {left} of {into}. About {_samples(result)}{fails}"


def _samples(result: Fit) -> str:
    most = result.largest_batch
    return "1 sample fits" if most == 1 else f"{most} samples fit"


def _growth(result: Fit, complete: bool) -> str:
    """What a sample adds, between two batches of the table below, so that the sums agree; without a second
    one what of the parts grows with the batch. Of a failure it is a bound: rows without a name are taken to
    grow.
    """
    about = "about" if complete else "up to"
    peaks = {each.batch: each.bytes for each in result.predictions}
    other = result.reported_batch
    apart = other - result.batch
    step = (
        (peaks[other] - peaks[result.batch]) // apart
        if apart and {other, result.batch} <= peaks.keys()
        else 0
    )
    if step <= 0:
        return f"{about} {human(result.per_sample_bytes)} per sample"
    which = "more for each further sample" if apart > 0 else "less for each sample fewer"
    return f"{about} {rough(step, 3)} {which}"
