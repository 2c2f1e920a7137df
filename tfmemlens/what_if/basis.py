"""What is known of a moment, from most to least: a step to simulate, a curve, a list, nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfmemlens.attribution.moments.held import held
from tfmemlens.errors import UsageError
from tfmemlens.model.attribution import Kind
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.case import Moment
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.timeline import Timeline
from tfmemlens.model.what_if import SavingBasis
from tfmemlens.values import replace
from tfmemlens.what_if.row_scaling import scaling_of
from tfmemlens.what_if.summed import RowsBasis

if TYPE_CHECKING:
    from tfmemlens.what_if.largest_batch import FitBasis

MAX_REPLAYED_ROWS = 5_000
"""Rows of a step that is simulated for a page: about half a second."""
MAX_WALKED_ROWS = 20_000
"""Rows of a step whose curve is scaled; of a larger one only the peak's own rows are."""


def basis_of(capture: Capture, moment: Moment) -> FitBasis | RowsBasis | None:
    """The best basis there is; `capture` is what the readers found, `moment` belongs to the case made of
    it.
    """
    timeline = moment.timeline
    if timeline is None or moment.below_peak:
        return rows_basis(moment, capture.hints)
    step = replayable(capture, moment) if len(timeline.table) <= MAX_REPLAYED_ROWS else None
    return step or rows_basis(moment, with_batch(capture, timeline))


def with_batch(capture: Capture, timeline: Timeline) -> Hints:
    """The hints with the batch that `fit` finds in the step, so that both speak of the same one."""
    from tfmemlens.what_if.step import batch_of_step

    if capture.hints.batch is not None:
        return capture.hints
    try:
        return replace(capture.hints, batch=batch_of_step(capture, timeline))
    except UsageError:
        return capture.hints


def replayable(capture: Capture, moment: Moment) -> FitBasis | None:
    """The moment's step, None where its batch cannot be told or nothing in it has one."""
    from tfmemlens.model.fit import Scale
    from tfmemlens.what_if.step import of_moment

    try:
        step = of_moment(capture, moment, capture.hints)
    except UsageError:
        return None
    return step if any(law.scale is not Scale.FIXED for law in step.step.laws) else None


def rows_basis(moment: Moment, hints: Hints) -> RowsBasis | None:
    """The rows of a step's curve or of the moment alone; None where nothing is known by name."""
    timeline = moment.timeline
    if (
        timeline is not None
        and timeline.curve
        and len(timeline.table) <= MAX_WALKED_ROWS
        and not moment.below_peak
    ):
        from tfmemlens.attribution.moments.ledger import rows_of

        return scaled(moment, rows_of(moment), hints, SavingBasis.TIMELINE)
    compiled = moment.incident is not None and moment.incident.compiler is not None
    if not compiled and all(owner.kind is Kind.UNATTRIBUTED for owner in moment.attribution.owners):
        return None
    return scaled(moment, held(moment), hints, SavingBasis.LIST)


def scaled(moment: Moment, rows: Ledger, hints: Hints, basis: SavingBasis) -> RowsBasis:
    """Rows with how each answers to changes."""
    return RowsBasis(moment, replace(rows, scaling=scaling_of(moment, rows, hints)), basis)
