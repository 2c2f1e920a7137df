"""The HTML page's sliders: each control's own effect as the engine tells it, and how the rows scale
between.
"""

from __future__ import annotations

from tfmemlens.model.case import Case
from tfmemlens.model.ledger import Ledger
from tfmemlens.values import replace
from tfmemlens.what_if import changes
from tfmemlens.what_if.row_scaling import scaling_of

_SHARES = (0.25, 0.5, 2.0, 4.0)
"""Batches, as shares of the measured one, that the engine is asked about; between them the page
interpolates.
"""


def with_sliders(case: Case, index: int, rows: Ledger) -> Ledger:
    """The ledger of a moment with what its controls do."""
    scaling = scaling_of(case.moments[index], rows, case.capture.hints)
    half, small = (case.what_if(index, slug) for slug in (changes.SMALLER_BATCH, changes.SMALLER_INPUT))
    batch = half.batch or scaling.batch
    levers = [replace(lever, saving=case.what_if(index, lever.slug)) for lever in scaling.levers]
    scaling = replace(
        scaling,
        batch=batch,
        levers=tuple(lever for lever in levers if lever.saving.known),
        batch_savings=_batches(case, index, batch) if batch else [],
        axis_savings=[(0.5, small.best_bytes)] if small.best_bytes is not None else [],
    )
    return replace(rows, scaling=scaling)


def _batches(case: Case, index: int, batch: int) -> list[tuple[float, int]]:
    """Other batches in whole samples, and what each saves."""
    others = dict.fromkeys(int(batch * share) for share in _SHARES)
    savings = [
        (other / batch, case.what_if(index, changes.SMALLER_BATCH, other)) for other in others if other
    ]
    return [(share, saving.best_bytes) for share, saving in savings if saving.best_bytes is not None]
