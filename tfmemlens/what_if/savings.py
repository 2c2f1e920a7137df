"""The one function that says what a change buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.model.capture import Hints
from tfmemlens.model.what_if import Saving
from tfmemlens.values import replace
from tfmemlens.what_if import changes
from tfmemlens.what_if.summed import RowsBasis
from tfmemlens.what_if.summed import saving as summed

if TYPE_CHECKING:
    from tfmemlens.what_if.largest_batch import FitBasis


def savings(basis: FitBasis | RowsBasis | None, change: str, to_batch: int | None = None) -> Saving:
    """What the change buys on this basis: a traced step, rows, or None for nothing at all; at the
    measured batch. `to_batch` is the batch that a smaller (or larger) one is to have, half of it unless
    given.
    """
    if basis is None:
        return Saving(change, to_batch=to_batch)
    if isinstance(basis, RowsBasis):
        return summed(basis, change, to_batch)
    from tfmemlens.what_if.basis import rows_basis
    from tfmemlens.what_if.replayed import reach, saving

    if basis.fallback is None and not basis.complete:
        return Saving(change, to_batch=to_batch)  # of a failure whose log names nothing
    if basis.fallback is None:
        answer = saving(basis, change, to_batch)
        if answer.known or change != changes.SMALLER_INPUT or basis.moment is None:
            return answer
        return savings(rows_basis(basis.moment, Hints(batch=basis.step.batch)), change)
    answer = summed(basis.fallback, change, to_batch)
    return (
        replace(answer, largest_batch=reach(basis, change)) if answer.known and basis.limit_bytes else answer
    )


def divided(saving: Saving, divisor: float) -> Saving:
    """What half of a batch saves, as a batch divided by this does: what shrinks is in proportion to it."""
    factor = 2 * (1 - 1 / divisor)
    best, low, high = (
        None if size is None else round(factor * size)
        for size in (saving.best_bytes, saving.low_bytes, saving.high_bytes)
    )
    return replace(saving, best_bytes=best, low_bytes=low, high_bytes=high)


def ranked_savings(basis: FitBasis) -> tuple[Saving, ...]:
    """What each change buys that applies to this step, the one that allows the largest batch first. What buys
    nothing, or costs, stands at the end.
    """
    asked = [savings(basis, slug) for slug in changes.CHANGES if slug != changes.SMALLER_BATCH]
    known = [each for each in asked if each.best_bytes is not None]
    return tuple(sorted(known, key=lambda each: (-(each.largest_batch or 0), -(each.best_bytes or 0))))
