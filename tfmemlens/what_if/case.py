"""A case that can be asked what a change would buy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from tfmemlens.model.allocation import Allocation
from tfmemlens.model.capture import Capture
from tfmemlens.model.case import Case
from tfmemlens.model.what_if import FailureForecast, Saving, Shrunk, TracedFit
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.model.network import Network
    from tfmemlens.what_if.largest_batch import FitBasis
    from tfmemlens.what_if.summed import RowsBasis


def no_network() -> Network | None:
    """The answer where nobody reads what a program's model said of itself."""
    return None


def attach(case: Case, capture: Capture, recorded_network: Callable[[], Network | None] = no_network) -> Case:
    """The case with the engine behind it; `capture` is what the readers found, `recorded_network` the
    description of the model that the program kept. Nothing is worked out before it is asked for.
    """

    @cache
    def basis(moment: int) -> FitBasis | RowsBasis | None:
        from tfmemlens.what_if.basis import basis_of

        return basis_of(capture, case.moments[moment])

    @cache
    def what_if(
        moment: int, change: str, to_batch: int | None = None, divisor: float | None = None
    ) -> Saving:
        from tfmemlens.what_if.savings import divided, savings

        saving = savings(basis(moment), change, to_batch)
        return saving if divisor is None else divided(saving, divisor)

    def of_tensor(tensor: Shrunk) -> Saving:
        from tfmemlens.what_if import one_tensor

        return one_tensor.of_tensor(tensor)

    def without(moment: int, allocation: Allocation, change: str) -> Saving:
        from tfmemlens.what_if import one_tensor

        return one_tensor.without(case.moments[moment].timeline, allocation, change)

    @cache
    def traced_fit(moment: int) -> TracedFit | None:
        if len(case.moments) < 2:
            return None
        from tfmemlens.what_if import beside

        return beside.traced_fit(case, moment, basis)

    @cache
    def predicted(moment: int) -> FailureForecast | None:
        from tfmemlens.what_if import described

        return described.predicted_failure(case, moment, recorded_network)

    return replace(
        case,
        what_if=what_if,
        of_tensor=of_tensor,
        without=without,
        traced_fit=traced_fit,
        predicted=predicted,
    )
