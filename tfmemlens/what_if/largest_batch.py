"""The largest batch under a limit, and the peak at other batches, from one measured step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfmemlens.errors import UsageError
from tfmemlens.estimation.batch_scaling.axes import Axis
from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.estimation.batch_scaling.scaling import input_rank, length_axis, shares_of_half, side_axis
from tfmemlens.model.attribution import Kind, Owner
from tfmemlens.model.case import Moment
from tfmemlens.model.finding import Certainty
from tfmemlens.model.fit import BatchPrediction, Fit, Scale
from tfmemlens.model.graph import Graph
from tfmemlens.model.timeline import ServingLimits
from tfmemlens.values import dataclass, replace
from tfmemlens.what_if.summed import RowsBasis

_MAX_BATCH = 1 << 24
"""No batch is looked for beyond this."""
_MARGIN = 0.06
"""Real peaks lie this far off a prediction in nine of ten cases (scripts/benchmarks/fit.py); chunks that were
not split are the reason.
"""


@dataclass(frozen=True, slots=True)
class FitBasis:
    """A step with all that bears on its fit."""

    step: ReplayedStep
    batch_source: str
    owners: Sequence[Owner]
    """Of the rows of the step's table."""
    standing: Sequence[tuple[str | None, int, Kind]]
    """What stood before the step: (node, bytes, kind)."""
    graph: Graph | None = None
    limit_bytes: int | None = None
    grows: bool = True
    """Whether the allocator's pool grows on demand, as on the CPU, or is one region from the start, as on a
    GPU.
    """
    complete: bool = True
    """Whether the step ran to its end; a failed one shows only what lived when it died."""
    remark: str | None = None
    """What the answer rests on beside the trace."""
    most_batch: int | None = None
    """Below the batch that was seen to fail under this limit."""
    moment: Moment | None = None
    """The step's peak, whose rows answer where the trace has no graph to follow an axis along."""
    fallback: RowsBasis | None = None
    """What savings are summed over where this is no whole step that could be simulated."""
    repredict: Callable[[int], FitBasis] | None = None
    """Where a model or a graph can be asked again: the step as it is predicted at another batch, rather than
    scaled to it.
    """


def fit(known: FitBasis) -> Fit:
    """The fit without remedies. Raises UsageError when nothing grows. What grows is told at the largest
    batch, else at four times the measured one: there growth has outrun buffers of fixed size.
    """
    step, batch = known.step, known.step.batch
    if all(law.scale is Scale.FIXED for law in step.laws):
        raise UsageError(
            f"nothing in this step grows with a batch of {batch}, as far as its shapes tell",
            "give the right one with --batch, or a RunMetadata with graphs",
        )
    largest_fitting = largest_batch(step, known) if known.limit_bytes is not None else None
    sure = sure_batch(known, largest_fitting)
    told = 4 * batch if largest_fitting is None else max(largest_fitting, 1)
    alive = step.alive_at_peak(told)
    grown = step.standing_grown(told) + sum(
        size for row, size in alive if step.laws[row].scale is not Scale.FIXED
    )
    stays = (
        step.baseline_bytes
        - step.standing_grown(batch)
        + sum(size for row, size in alive if step.laws[row].scale is Scale.FIXED)
    )
    constraint, runner_up = constraints(known, told)
    likely = _likely_batches(known, largest_fitting)
    rank = input_rank(known.graph)
    result = Fit(
        batch=batch,
        batch_source=known.batch_source,
        peak_bytes=step.timeline.peak_bytes,
        reported_batch=told,
        fixed_bytes=stays,
        per_sample_bytes=round(grown / told),
        limit_bytes=known.limit_bytes,
        largest_batch=largest_fitting,
        sure_batch=sure,
        likely_low_batch=likely[0],
        likely_high_batch=likely[1],
        certainty=Certainty.ESTIMATE if known.complete else Certainty.BOUND,
        constraint=constraint,
        runner_up=runner_up,
        pixel_bytes=_moving(known, alive, side_axis(batch)) if rank in (4, 5) else 0,
        sequence_bytes=_moving(known, alive, length_axis(batch)) if rank in (2, 3) else 0,
        predicted=step.timeline.predicted,
        predictions=tuple(predict(step, size, known) for size in _sizes(batch, largest_fitting)),
    )
    use = result.use_batch
    return replace(result, use_peak_bytes=predict(step, use, known).bytes) if use else result


def sure_batch(known: FitBasis, largest_fitting: int | None) -> int | None:
    """The largest batch that runs in the limit even at the upper end of the error bar."""
    if known.limit_bytes is None or not known.complete or largest_fitting is None:
        return None
    if known.repredict is not None and known.step.timeline.needed_limit is not None:
        limit, repredict = known.limit_bytes, known.repredict
        guess = int(largest_fitting / (1 + error_share(known.step)))
        return min(
            crossing(lambda batch: _limit_for_sure(repredict(batch).step), limit, guess), largest_fitting
        )
    within = replace(known, limit_bytes=int(known.limit_bytes / (1 + error_share(known.step))))
    sure = min(largest_batch(known.step, within), largest_fitting)
    measured = not known.step.timeline.predicted and known.step.batch <= largest_fitting
    return max(sure, known.step.batch) if measured else sure


def _likely_batches(known: FitBasis, largest_fitting: int | None) -> tuple[int | None, int | None]:
    """The largest batches with all requests at the upper, and at the lower end of the bar; None for both
    where the step was measured, or cannot be predicted anew.
    """
    limit, repredict = known.limit_bytes, known.repredict
    if limit is None or largest_fitting is None or repredict is None or _serving(known.step) is None:
        return None, None
    share = error_share(known.step)

    def needs(batch: int, end: str) -> int:
        step = repredict(batch).step
        serving = _serving(step)
        return int(getattr(serving, end)) if serving else step.timeline.peak_bytes

    low = crossing(lambda batch: needs(batch, "high_bytes"), limit, int(largest_fitting / (1 + share)))
    high = crossing(lambda batch: needs(batch, "low_bytes"), limit, int(largest_fitting * (1 + share)))
    return min(low, largest_fitting), max(high, largest_fitting)


def _serving(step: ReplayedStep) -> ServingLimits | None:
    needed = step.timeline.needed_limit
    return needed.serving if needed else None


def _limit_for_sure(step: ReplayedStep) -> int:
    """The limit in bytes that runs a predicted step even at the upper end of its bar."""
    needed = step.timeline.needed_limit
    return needed.high_bytes if needed else round(step.timeline.peak_bytes * (1 + error_share(step)))


def _moving(known: FitBasis, alive: Sequence[tuple[int, int]], axis: Axis) -> int:
    shares = shares_of_half(known.step.timeline, known.graph, axis)
    return sum(size for row, size in alive if shares[row] < 1.0)


def _sizes(batch: int, largest: int | None) -> list[int]:
    around = {max(batch // 2, 1), batch, 2 * batch, 4 * batch}
    return sorted(around | ({largest} if largest else set()))


def predict(step: ReplayedStep, batch: int, known: FitBasis | None = None) -> BatchPrediction:
    """The peak at a batch, under the limit where it fits; at the measured batch it is the measured peak."""
    if batch == step.batch:
        peak = step.timeline.peak_bytes
        if step.timeline.predicted:
            return _within_the_bar(step, batch, peak)
        return BatchPrediction(batch, peak, peak, peak, peak)
    if known and known.repredict:
        other = known.repredict(batch).step
        within = (
            other.peak_under(batch, known.limit_bytes, known.grows) if known.limit_bytes is not None else None
        )
        peak = other.timeline.peak_bytes if within is None else min(within, other.timeline.peak_bytes)
        return _within_the_bar(other, batch, peak)
    limit = known.limit_bytes if known else None
    limited = step.peak_under(batch, limit, known.grows) if known and limit is not None else None
    peak = (step.peak_bytes(batch) if limited is None else limited) + _missed(step)
    if limited is not None and limit is not None:
        peak = min(peak, limit)
    least = step.least_bytes(batch)
    return BatchPrediction(batch, peak, min(least, round(peak * (1 - _MARGIN))), round(peak * (1 + _MARGIN)))


def _within_the_bar(step: ReplayedStep, batch: int, peak: int) -> BatchPrediction:
    above = step.timeline.error_share or _MARGIN
    below = step.timeline.lower_error_share or above
    return BatchPrediction(batch, peak, round(peak * (1 - below)), round(peak * (1 + above)))


def error_share(step: ReplayedStep) -> float:
    """How far the truth may lie from a peak that is predicted, or carried over to another batch or run."""
    return (step.timeline.error_share or _MARGIN) if step.timeline.predicted else _MARGIN


def _missed(step: ReplayedStep) -> int:
    """By how much the simulation misses the measured peak at its own batch: at others, too, as far as one
    knows.
    """
    return 0 if step.is_bound else step.timeline.peak_bytes - step.peak_bytes(step.batch)


def largest_batch(step: ReplayedStep, known: FitBasis) -> int:
    """The largest batch whose every request finds a chunk; 0 if not even one sample does."""
    limit, repredict = known.limit_bytes, known.repredict
    assert limit is not None
    scaled = largest(lambda batch: step.fits(batch, limit, known.grows), step.batch)
    if known.most_batch is not None:
        return min(scaled, known.most_batch)
    if repredict is None:
        return scaled
    if _serving(step) is not None:
        return crossing(lambda batch: _serving_bytes(repredict(batch).step, limit), limit, scaled)
    return nearest(lambda batch: repredict(batch).step.fits(batch, limit, known.grows), scaled)


def _serving_bytes(step: ReplayedStep, limit: int) -> int:
    """What serves the step. The very limit decides where it was tried: one that serves a step need not do so
    when it is larger, since its regions are others.
    """
    serving = _serving(step)
    if serving is None:
        return step.timeline.peak_bytes
    if serving.served is None:
        return serving.bytes
    return min(serving.bytes, limit) if serving.served else max(serving.bytes, limit + 1)


def largest(fits: Callable[[int], bool], start: int) -> int:
    """The largest number for which it holds, by doubling from `start` and bisection; it is taken to hold
    below every number for which it does.
    """
    low, high = 0, max(start, 1)
    while fits(high):
        low, high = high, 2 * high
        if high > _MAX_BATCH:
            return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def nearest(fits: Callable[[int], bool], guess: int) -> int:
    """The same as `largest`, asked first round a guess and then in growing steps from there: for what is dear
    to ask.
    """
    step = max(guess // 50, 1)
    low, high = (guess, guess + step) if guess == 0 or fits(guess) else (max(guess - step, 0), guess)
    while low > 0 and low != guess and not fits(low):
        step *= 2
        low, high = max(low - step, 0), low
    while high != guess and high <= _MAX_BATCH and fits(high):
        step *= 2
        low, high = high, high + step
    while high - low > max(low // 200, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def crossing(needs: Callable[[int], int], limit: int, guess: int) -> int:
    """The largest number of which no more than `limit` is needed, 0 if none: asked round a guess, then where
    a straight line between what is known reaches the limit. It is taken to grow with the number; the answer
    is exact up to 200, then to a half per cent.
    """
    low, high = 0, 0
    known: dict[int, int] = {}
    at = max(guess, 1)
    while not high or high - low > max(low // 200, 1):
        known[at] = needs(at)
        low, high = (at, high) if known[at] <= limit else (low, at)
        if low >= _MAX_BATCH:
            return low
        at = _next_asked(known, limit, low, high)
    return low


def _next_asked(known: dict[int, int], limit: int, low: int, high: int) -> int:
    """A little beyond where the need is proportional, until there are two ends; then between them."""
    if not high:
        return max(low + 1, min(round(1.05 * low * limit / max(known[low], 1)), 2 * low))
    if not low:
        return min(high - 1, max(round(0.95 * high * limit / known[high]), high // 2)) if high > 1 else 0
    gap = high - low
    part = (limit - known[low]) / max(known[high] - known[low], 1)
    return low + min(max(round(gap * min(max(part, 0.1), 0.9)), 1), gap - 1)


def constraints(known: FitBasis, batch: int) -> tuple[str | None, str | None]:
    """What holds most at the peak of this batch, and what holds most beside it."""
    held: dict[str, int] = {}
    for row, size in known.step.alive_at_peak(batch):
        owner = known.owners[row]
        key = _WORDS.get(owner.kind, owner.kind.value)
        if owner.kind is Kind.WORKSPACE and owner.layer:
            key = f"{key} of {owner.layer}"
        held[key] = held.get(key, 0) + size
    for _, size, kind in known.standing:
        key = _WORDS.get(kind, kind.value)
        held[key] = held.get(key, 0) + size
    ranked = sorted(held, key=lambda key: -held[key])
    return (ranked[0] if ranked else None), (ranked[1] if len(ranked) > 1 else None)


_WORDS = {
    Kind.ACTIVATION: "activations",
    Kind.GRADIENT: "gradients",
    Kind.PARAMETER: "weights",
    Kind.OPTIMIZER_SLOT: "optimizer slots",
    Kind.WORKSPACE: "the workspace",
    Kind.LAYOUT_TRANSPOSE: "layout copies",
    Kind.LOOP_STACK: "loop stacks",
    Kind.UNATTRIBUTED: "what has no name",
    Kind.INPUT: "inputs",
    Kind.CONSTANT: "constants",
}
