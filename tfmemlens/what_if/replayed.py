"""What a change buys in a traced step: the step with the change applied, walked through the allocator
again.
"""

from __future__ import annotations

from collections.abc import Callable

from tfmemlens.estimation.batch_scaling.recompute import plan
from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.estimation.batch_scaling.scaling import input_rank, length_axis, shares_of_half, side_axis
from tfmemlens.model.attribution import Kind
from tfmemlens.model.finding import Certainty
from tfmemlens.model.fit import Scale
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.units import human
from tfmemlens.values import dataclass
from tfmemlens.what_if import changes
from tfmemlens.what_if.largest_batch import FitBasis, largest, largest_batch, predict
from tfmemlens.what_if.summed import FIRST_VALUE

_HALVED = (Kind.ACTIVATION, Kind.GRADIENT, Kind.LAYOUT_TRANSPOSE, Kind.WORKSPACE, Kind.LOOP_STACK, Kind.INPUT)
_MARGIN = 0.05
"""A saving's interval is widened on both sides by this share of the peak: chunks that were not split are the
reason (scripts/benchmarks/what_if.py).
"""


_MIN_SHARE_OF_HALVING = 0.25
"""Of what halving should save, mixed precision was seen to save a third where softmax and casts stayed in 32
bits.
"""


@dataclass(frozen=True, slots=True)
class Applied:
    """A step with a change applied. `parts`: into how many steps of a smaller batch it is cut."""

    step: ReplayedStep
    text: str = ""
    parts: int = 1
    unsure_bytes: int = 0
    """What it may need beyond that."""
    between: tuple[int, int] | None = None
    """What it saves at least and at most, where the change is done differently from program to program."""


def saving(known: FitBasis, change: str, to_batch: int | None = None) -> Saving:
    """What the change buys at the measured batch, and the largest batch with it; no figure where the change
    does not apply to this step.
    """
    step, batch = known.step, known.step.batch
    if change == changes.SMALLER_BATCH:
        return _other_batch(known, batch // 2 if to_batch is None else to_batch)
    if change == changes.NO_LAYOUT_COPIES:
        return _no_copies(known)
    rule = _RULES.get(change)
    applied = rule(known) if rule else None
    if applied is None:
        return Saving(change)
    part = -(-batch // applied.parts)
    best = step.peak_bytes(batch) - applied.step.peak_bytes(part)
    low, high = _interval(step, applied.step, part, best)
    return Saving(
        change,
        SavingBasis.REPLAY,
        best,
        (low if applied.between is None else min(low, applied.between[0])) - applied.unsure_bytes,
        high if applied.between is None else max(high, min(applied.between[1], step.timeline.peak_bytes)),
        Certainty.ESTIMATE,
        applied.text or changes.CHANGES[change].text,
        batch,
        _reach(known, applied),
    )


def _other_batch(known: FitBasis, other: int) -> Saving:
    step, batch = known.step, known.step.batch
    if other < 1:
        return Saving(changes.SMALLER_BATCH, batch=batch)
    best = predict(step, batch, known).bytes - predict(step, other, known).bytes
    low, high = _interval(step, step, other, best)
    return Saving(
        changes.SMALLER_BATCH,
        SavingBasis.REPLAY,
        best,
        low,
        high,
        Certainty.ESTIMATE,
        changes.CHANGES[changes.SMALLER_BATCH].text,
        batch,
        largest_batch(step, known) if known.limit_bytes is not None else None,
        other,
    )


def _interval(step: ReplayedStep, then: ReplayedStep, batch: int, best: int) -> tuple[int, int]:
    """The least and the most that is saved. Afterwards every chunk may be just as large as its request, or
    the largest may be twice that: BFC does not split a free chunk for less, and which chunks are free depends
    on all that ran before.
    """
    measured = step.timeline.peak_bytes
    margin = round(_MARGIN * measured)
    least = then.least_bytes(batch)
    most = least + max((size for _, size in then.alive_at_peak(batch)), default=0)
    return min(best, measured - most) - margin, min(max(best, measured - least) + margin, measured)


def reach(known: FitBasis, change: str) -> int | None:
    """The largest batch that fits with the change; None without a limit, or where it does not apply."""
    rule = _RULES.get(change)
    applied = rule(known) if rule else None
    return _reach(known, applied) if applied else None


def _reach(known: FitBasis, applied: Applied) -> int | None:
    """The largest batch that fits with the change."""
    limit = known.limit_bytes
    if limit is None:
        return None
    most = largest(lambda size: applied.step.fits(size, limit, known.grows), known.step.batch)
    return applied.parts * most


def _shares(known: FitBasis, share: Callable[[int], float]) -> list[float] | None:
    """What is left of each row; None when nothing changes."""
    shares = [share(row) for row in range(len(known.step.laws))]
    return shares if min(shares, default=1.0) < 1.0 else None


def _mixed_precision(known: FitBasis) -> Applied | None:
    dtypes = known.step.timeline.table.dtype

    def share(row: int) -> float:
        moves = known.step.laws[row].scale is not Scale.FIXED and known.owners[row].kind in _HALVED
        return 0.5 if moves and dtypes[row] in ("float32", None) else 1.0

    shares = _shares(known, share)
    if shares is None:
        return None
    step = known.step.changed(shares=shares, added_bytes=_weights(known) // 2)
    best = known.step.peak_bytes(known.step.batch) - step.peak_bytes(known.step.batch)
    return Applied(step, between=(round(_MIN_SHARE_OF_HALVING * best), best))


def _weights(known: FitBasis) -> int:
    """The weights; where the trace does not name what stood before the step a third of that, as with Adam;
    where nothing is known to have stood, what the step itself holds of weights at its peak.
    """
    named = sum(size for _, size, kind in known.standing if kind is Kind.PARAMETER)
    stood = (known.step.timeline.before_bytes - sum(size for _, size, _ in known.standing)) // 3
    held = known.step.alive_at_peak(known.step.batch) if not named and not stood else ()
    return named or stood or sum(size for row, size in held if known.owners[row].kind is Kind.PARAMETER)


def _recompute(known: FitBasis) -> Applied | None:
    chosen = plan(known.step, known.owners) if known.complete else None
    if chosen is None:
        return None
    names = [known.step.timeline.table.node[row] or "?" for row in chosen.cuts]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    text = f"recompute activations in the backward pass, keeping {shown}"
    return Applied(known.step.changed(order=chosen.order), text, between=(0, _grown_at_peak(known)))


def _grown_at_peak(known: FitBasis) -> int:
    """All that grows with the batch at the peak: whole blocks may be recomputed, and other moments then hold
    less.
    """
    step = known.step
    return sum(
        size for row, size in step.alive_at_peak(step.batch) if step.laws[row].scale is not Scale.FIXED
    )


def _lighter_optimizer(known: FitBasis) -> Applied | None:
    slots = [
        (node, size)
        for node, size, kind in known.standing
        if kind is Kind.OPTIMIZER_SLOT or FIRST_VALUE.search(node or "")
    ]
    total = sum(size for _, size in slots)
    if not total:
        return None
    step = known.step.changed(removed_bytes=total, dropped=frozenset(node for node, _ in slots if node))
    return Applied(step, f"an optimizer without slots, such as plain SGD ({human(total)} of slots now)")


def _accumulation(known: FitBasis) -> Applied | None:
    """Two half batches with summed gradients: the effective batch stays."""
    weights = _weights(known)
    if known.step.batch < 2 or not known.complete:
        return None
    about = "" if any(kind is Kind.PARAMETER for _, _, kind in known.standing) else "about "
    text = f"gradient accumulation over two half batches ({about}{human(weights)} for the sums)"
    step = known.step.changed(added_bytes=weights)
    return Applied(step, text, parts=2, unsure_bytes=weights)  # the sums are copied when they are applied


def _no_copies(known: FitBasis) -> Saving:
    """The step without layout copies: at most what its curve loses when each original lives as long as its
    copy did. Which tensor is whose original only a graph tells.
    """
    from tfmemlens.attribution.layout_pass.peak import curve_without

    timeline, change = known.step.timeline, changes.NO_LAYOUT_COPIES
    nodes = zip(timeline.table.node, known.owners, strict=True)
    copies = {node for node, owner in nodes if node and owner.kind is Kind.LAYOUT_TRANSPOSE}
    if not copies or known.graph is None:
        return Saving(change)
    saved = max(timeline.peak_bytes - curve_without(timeline, known.graph, copies), 0)
    text = changes.CHANGES[change].text
    return Saving(change, SavingBasis.TIMELINE, saved, 0, saved, Certainty.BOUND, text, known.step.batch)


def _smaller_input(known: FitBasis) -> Applied | None:
    rank, batch = input_rank(known.graph), known.step.batch
    if rank in (4, 5):
        shares = shares_of_half(known.step.timeline, known.graph, side_axis(batch))
        return Applied(known.step.changed(shares=shares), "images of half the height and width")
    if rank in (2, 3):
        shares = shares_of_half(known.step.timeline, known.graph, length_axis(batch))
        if rank == 3 or min(shares, default=1.0) < 1.0:
            return Applied(known.step.changed(shares=shares), "sequences of half the length")
    return None


_RULES: dict[str, Callable[[FitBasis], Applied | None]] = {
    changes.MIXED_PRECISION: _mixed_precision,
    changes.RECOMPUTE: _recompute,
    changes.LIGHTER_OPTIMIZER: _lighter_optimizer,
    changes.GRADIENT_ACCUMULATION: _accumulation,
    changes.SMALLER_INPUT: _smaller_input,
}
