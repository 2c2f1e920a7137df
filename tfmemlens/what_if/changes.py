"""What each change would buy: the same step with the change applied, walked through the allocator again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tfmemlens.estimation.batch_scaling.recompute import plan
from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.estimation.batch_scaling.scaling import input_rank, length_axis, shares_of_half, side_axis
from tfmemlens.model.attribution import Kind
from tfmemlens.model.finding import Certainty
from tfmemlens.model.fit import FitRemedy, Scale
from tfmemlens.units import human
from tfmemlens.what_if.largest_batch import FitBasis, largest

_WORTH = 0.01
"""A remedy that saves less than this share of the peak is not worth a line."""
_HALVED = (Kind.ACTIVATION, Kind.GRADIENT, Kind.LAYOUT_TRANSPOSE, Kind.WORKSPACE, Kind.LOOP_STACK, Kind.INPUT)


_FIRST_VALUE = re.compile(r"/(?:Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl)(?:_\d+)?/Initializer/")
"""Constants of a session that first filled slots, and stay."""


def remedies(known: FitBasis) -> tuple[FitRemedy, ...]:
    """All that help, the one that allows the largest batch first."""
    found = [each for each in _all(known) if each.saves_bytes > _WORTH * known.step.timeline.peak_bytes]
    return tuple(sorted(found, key=lambda each: (-(each.largest_batch or 0), -each.saves_bytes)))


def _all(known: FitBasis) -> Iterator[FitRemedy]:
    for rule in (_mixed_precision, _recompute, _lighter_optimizer, _accumulation, _no_copies, _smaller_input):
        yield from rule(known)


def _bought(
    known: FitBasis, slug: str, text: str, step: ReplayedStep, certainty: Certainty = Certainty.ESTIMATE
) -> FitRemedy:
    """Saved at the measured batch, and the largest batch with the remedy."""
    batch = known.step.batch
    saves = known.step.peak_bytes(batch) - step.peak_bytes(batch)
    return FitRemedy(
        text,
        saves,
        _largest(known, lambda size: step.fits(size, known.limit_bytes or 0, known.grows)),
        certainty,
        slug,
    )


def _largest(known: FitBasis, fits: Callable[[int], bool]) -> int | None:
    return largest(fits, known.step.batch) if known.limit_bytes is not None else None


def _shares(known: FitBasis, share: Callable[[int], float]) -> list[float]:
    return [share(row) for row in range(len(known.step.laws))]


def _mixed_precision(known: FitBasis) -> Iterator[FitRemedy]:
    dtypes = known.step.timeline.table.dtype

    def share(row: int) -> float:
        moves = known.step.laws[row].scale is not Scale.FIXED and known.owners[row].kind in _HALVED
        return 0.5 if moves and dtypes[row] in ("float32", None) else 1.0

    shares = _shares(known, share)
    if min(shares, default=1.0) < 1.0:
        weights = sum(size for _, size, kind in known.standing if kind is Kind.PARAMETER)
        step = known.step.changed(shares=shares, added_bytes=weights // 2)
        yield _bought(
            known,
            "mixed-precision",
            "mixed precision: activations and their gradients in 16 bits, weights in 32 and a 16-bit copy of"
            " them",
            step,
        )


def _recompute(known: FitBasis) -> Iterator[FitRemedy]:
    chosen = plan(known.step, known.owners) if known.complete else None
    if chosen is not None:
        names = [known.step.timeline.table.node[row] or "?" for row in chosen.cuts]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        yield _bought(
            known,
            "recompute",
            f"recompute activations in the backward pass, keeping {shown}",
            known.step.changed(order=chosen.order),
        )


def _lighter_optimizer(known: FitBasis) -> Iterator[FitRemedy]:
    slots = [
        (node, size)
        for node, size, kind in known.standing
        if kind is Kind.OPTIMIZER_SLOT or _FIRST_VALUE.search(node or "")
    ]
    total = sum(size for _, size in slots)
    if total:
        step = known.step.changed(removed_bytes=total, dropped=frozenset(node for node, _ in slots if node))
        yield _bought(
            known,
            "lighter-optimizer",
            f"an optimizer without slots, such as plain SGD ({human(total)} of slots now)",
            step,
        )


def _accumulation(known: FitBasis) -> Iterator[FitRemedy]:
    """Two half batches with summed gradients: the effective batch stays."""
    batch, step = known.step.batch, known.step
    weights = sum(size for _, size, kind in known.standing if kind is Kind.PARAMETER)
    if batch >= 2 and known.complete:
        summed = step.changed(added_bytes=weights)
        saves = step.peak_bytes(batch) - summed.peak_bytes(-(-batch // 2))
        most = _largest(known, lambda size: summed.fits(size, known.limit_bytes or 0, known.grows))
        text = f"gradient accumulation over two half batches ({human(weights)} for the sums)"
        yield FitRemedy(
            text, saves, None if most is None else 2 * most, Certainty.ESTIMATE, "gradient-accumulation"
        )


def _no_copies(known: FitBasis) -> Iterator[FitRemedy]:
    shares = _shares(known, lambda row: 0.0 if known.owners[row].kind is Kind.LAYOUT_TRANSPOSE else 1.0)
    if min(shares, default=1.0) < 1.0:
        yield _bought(
            known,
            "no-layout-copies",
            "write the model in the layout that the device computes in: no layout copies",
            known.step.changed(shares=shares),
        )


def _smaller_input(known: FitBasis) -> Iterator[FitRemedy]:
    rank, batch = input_rank(known.graph), known.step.batch
    if rank in (4, 5):
        shares = shares_of_half(known.step.timeline, known.graph, side_axis(batch))
        yield _bought(
            known, "smaller-input", "images of half the height and width", known.step.changed(shares=shares)
        )
    elif rank in (2, 3):
        shares = shares_of_half(known.step.timeline, known.graph, length_axis(batch))
        if rank == 3 or min(shares, default=1.0) < 1.0:
            yield _bought(
                known, "smaller-input", "sequences of half the length", known.step.changed(shares=shares)
            )
