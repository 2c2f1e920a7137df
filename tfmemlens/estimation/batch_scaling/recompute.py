"""Recomputing activations: which to keep, which to make again, and what the step's order is then."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.model.attribution import Kind, Owner, Phase
from tfmemlens.values import dataclass

_MIN_SHARE_KEPT = 0.005
"""Activations below this share of all kept ones are left alone."""


@dataclass(frozen=True, slots=True)
class RecomputePlan:
    """The rows that stay as cut points, and the order of events with all others freed early and made
    again.
    """

    cuts: tuple[int, ...]
    order: tuple[tuple[int, bool], ...]


def plan(step: ReplayedStep, owners: Sequence[Owner]) -> RecomputePlan | None:
    """Cut points so that what is kept plus the largest stretch between two of them is least; None when
    nothing is kept for the backward pass.
    """
    births = {row: index for index, (row, born) in enumerate(step.events) if born}
    deaths = {row: index for index, (row, born) in enumerate(step.events) if not born}
    turn = _turn(step, owners)
    if turn is None:
        return None
    kept = [row for row in births if births[row] < turn < deaths.get(row, -1) and _is_activation(owners[row])]
    sizes = step.requests(step.batch)
    least = _MIN_SHARE_KEPT * sum(sizes[row] for row in kept)
    kept = [row for row in sorted(kept, key=births.__getitem__) if sizes[row] >= least]
    if len(kept) < 3:
        return None
    segments = _segments([sizes[row] for row in kept])
    return _order(step, kept, segments, births, deaths)


def _is_activation(owner: Owner) -> bool:
    return owner.kind is Kind.ACTIVATION and owner.phase is Phase.FORWARD


def _turn(step: ReplayedStep, owners: Sequence[Owner]) -> int | None:
    """The event at which the backward pass begins: the first large gradient."""
    sizes = step.requests(step.batch)
    noticeable = max(sizes, default=0) // 100
    return next(
        (
            index
            for index, (row, born) in enumerate(step.events)
            if born and owners[row].phase is Phase.GRADIENT and sizes[row] >= noticeable
        ),
        None,
    )


def _segments(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches (first, last) of rows; the last row of each stretch is its cut point. Tried for every bound
    that a stretch's sum can have.
    """
    best: tuple[int, list[tuple[int, int]]] | None = None
    total = sum(sizes)
    for parts in range(2, len(sizes)):
        stretches, start, held = [], 0, 0
        for index, size in enumerate(sizes):
            held += size
            if held * parts >= total and index < len(sizes) - 1:
                stretches.append((start, index))
                start, held = index + 1, 0
        stretches.append((start, len(sizes) - 1))
        cost = sum(sizes[last] for _, last in stretches[:-1]) + max(
            sum(sizes[first : last + 1]) for first, last in stretches
        )
        if best is None or cost < best[0]:
            best = (cost, stretches)
    return best[1] if best else [(0, len(sizes) - 1)]


def _order(
    step: ReplayedStep,
    kept: Sequence[int],
    segments: Sequence[tuple[int, int]],
    births: dict[int, int],
    deaths: dict[int, int],
) -> RecomputePlan:
    """Each stretch is freed when its cut point is there, and born again when the backward pass has left the
    stretch behind it.
    """
    inserted: dict[int, list[tuple[int, bool]]] = {}
    cuts = [kept[last] for _, last in segments[:-1]]
    for (first, last), (after_first, after_last) in pairwise(segments):
        again = min(deaths[row] for row in kept[first : last + 1])
        leaves = max(
            (deaths[row] for row in kept[after_first : after_last + 1] if deaths[row] < again),
            default=again - 1,
        )
        dropped = kept[first:last]
        inserted.setdefault(births[kept[last]], []).extend((row, False) for row in dropped)
        inserted.setdefault(leaves, []).extend((row, True) for row in dropped)
    order: list[tuple[int, bool]] = []
    for index, event in enumerate(step.events):
        order.append(event)
        order += inserted.get(index, [])
    return RecomputePlan(tuple(cuts), tuple(order))
