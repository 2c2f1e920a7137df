"""What a step that was traced beside a failure says of it: which batch fits under the limit that was met."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfmemlens.model.allocation import Shape
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.what_if import TracedFit
from tfmemlens.values import replace
from tfmemlens.what_if.largest_batch import FitBasis, largest_batch, sure_batch
from tfmemlens.what_if.summed import RowsBasis

_NEAR = 0.02
"""A batch that was rounded up, or one more row, is none of other sizes."""
Known = Callable[[int], FitBasis | RowsBasis | None]


def traced_fit(case: Case, index: int, known: Known) -> TracedFit | None:
    """The largest batch under the limit of a failure (the moment of this index), from the traced step that
    has most samples; `known` tells what is known of each moment. None without a limit or such a step.
    """
    failure = case.moments[index]
    limit = failure.balance.limit
    if failure.request is None or limit is None or limit.low <= 0:
        return None
    steps = [
        basis
        for at, moment in enumerate(case.moments)
        if _is_beside(moment, failure)
        and isinstance(basis := known(at), FitBasis)
        and basis.complete
        and not _is_of_other_sizes(moment, basis.step.batch, failure)
    ]
    if not steps:
        return None
    best = max(steps, key=lambda basis: basis.step.batch)
    within = replace(best, limit_bytes=limit.low)
    most = largest_batch(best.step, within)
    sure = sure_batch(within, most)
    return TracedFit(best.step.batch, best.step.timeline.peak_bytes, most, sure) if sure else None


def _is_beside(moment: Moment, failure: Moment) -> bool:
    """Whether the moment is the peak of a measured step on the allocator that had no room."""
    step, request = moment.timeline, failure.request
    if step is None or step.predicted or moment.below_peak or request is None:
        return False
    allocator = request.failed.allocator
    return allocator is not None and step.allocator.lower() == allocator.lower()


def _is_of_other_sizes(step: Moment, batch: int, failure: Moment) -> bool:
    """Whether the tensor that failed is, in the traced step, one that differs by more than the batch: of
    longer sequences or larger pictures, of which the step says nothing.
    """
    request, timeline = failure.request, step.timeline
    if request is None or timeline is None or not request.batch or not request.failed.node:
        return False
    wanted = _elements(request.failed.shape)
    table, tail = timeline.table, f"/{request.failed.node}"
    columns = zip(table.node, table.shape, strict=True)
    alike = {_elements(shape) for node, shape in columns if node and f"/{node}".endswith(tail)} - {0}
    grown = request.batch / batch
    return bool(alike and wanted) and not any(
        math.isclose(wanted / each, factor, rel_tol=_NEAR)
        for each in alike
        for factor in (1, grown, grown**2)
    )


def _elements(shape: Shape | None) -> int:
    return math.prod(size or 0 for size in shape or (0,))
