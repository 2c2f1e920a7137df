"""A case that can be asked what a change would buy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Case
from tfmemlens.model.what_if import Saving, TracedFit
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.what_if.largest_batch import FitBasis
    from tfmemlens.what_if.summed import RowsBasis


def attach(case: Case, capture: Capture) -> Case:
    """The case with the engine behind it; `capture` is what the readers found. Nothing is worked out before
    it is asked for.
    """

    @cache
    def basis(moment: int) -> FitBasis | RowsBasis | None:
        from tfmemlens.what_if.basis import basis_of

        return basis_of(capture, case.moments[moment])

    @cache
    def what_if(moment: int, change: str, to_batch: int | None = None) -> Saving:
        from tfmemlens.what_if.savings import savings

        return savings(basis(moment), change, to_batch)

    @cache
    def traced_fit(moment: int) -> TracedFit | None:
        if len(case.moments) < 2:
            return None
        from tfmemlens.what_if import beside

        return beside.traced_fit(case, moment, basis)

    return replace(case, what_if=what_if, traced_fit=traced_fit)
