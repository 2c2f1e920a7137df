"""What was held at a failure as a step that was born at once, so that a batch can be bounded from above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tfmemlens.estimation.batch_scaling.replay import ReplayedStep
from tfmemlens.estimation.batch_scaling.scaling import BatchScaling, is_per_weight, laws_of, proportional
from tfmemlens.model.allocation import TEMPORARY, Allocation, AllocationTable
from tfmemlens.model.attribution import Kind, Owner
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Moment
from tfmemlens.model.fit import Scale
from tfmemlens.model.timeline import BaselineSource, Timeline
from tfmemlens.units import human, round_up
from tfmemlens.values import replace
from tfmemlens.what_if.basis import rows_basis
from tfmemlens.what_if.largest_batch import FitBasis
from tfmemlens.what_if.step import batch_and_source, pool_grows

_MIN_SHARE_TOLD = 0.1
"""A share of the whole that is worth a sentence."""
_STAYING = (Kind.PARAMETER, Kind.OPTIMIZER_SLOT, Kind.CONSTANT, Kind.WORKSPACE)


def of_failure(moment: Moment, hints: Hints) -> FitBasis:
    """The allocations of an OOM report as a step that was born at once, and the failing request after
    them.
    """
    books = moment.balance
    outside = books.outside_report.bytes if books.outside_report else 0
    namings = moment.namings or (None,) * len(moment.attribution.table)
    rows, owners = [], []
    for row, owner, naming in zip(moment.attribution.table, moment.attribution.owners, namings, strict=True):
        tensor = naming.best.tensor if naming else None
        rows.append(
            replace(
                row,
                start_micros=0.0,
                shape=row.shape or (tensor.shape if tensor else None),
                dtype=row.dtype or (tensor.dtype if tensor else None),
            )
        )
        owners.append(owner)
    if moment.request and moment.request.needed_bytes:
        failed, size = moment.request.failed, moment.request.needed_bytes
        purpose = TEMPORARY if failed.temporary else None
        rows.append(
            Allocation(
                failed.node,
                size,
                moment.request.owner.op,
                failed.device,
                failed.allocator,
                size,
                1.0,
                None,
                failed.shape,
                failed.dtype,
                purpose=purpose,
            )
        )
        owners.append(moment.request.owner)
    device, allocator = rows[0].device or "", rows[0].allocator or ""
    timeline = Timeline(
        device,
        allocator,
        AllocationTable.of([row for row in rows for _ in range(row.count)]),
        AllocationTable(),
        outside,
        None,
        BaselineSource.UNKNOWN,
    )
    spread = [owner for row, owner in zip(rows, owners, strict=True) for _ in range(row.count)]
    batch, source = batch_and_source(timeline, None, hints)
    limit = hints.limit_bytes or (books.limit.bytes if books.limit else None)
    listed = laws_of(timeline, None, batch)
    sizes = _likely_requests(timeline.table, listed, batch)
    laws = [
        _growing(law, row, owner, batch, sizes)
        for law, row, owner in zip(listed, timeline.table, spread, strict=True)
    ]
    failed_here = books.limit is not None and limit is not None and limit <= books.limit.bytes
    most = batch - 1 if failed_here else None
    step = ReplayedStep(timeline, laws, batch, is_bound=True)
    remark = _nameless(step, spread)
    return FitBasis(
        step,
        source,
        spread,
        (),
        None,
        limit,
        pool_grows(timeline),
        complete=False,
        remark=remark,
        fallback=rows_basis(moment, hints),
        most_batch=most,
    )


def _likely_requests(table: AllocationTable, laws: Sequence[BatchScaling], batch: int) -> list[int]:
    """Sizes that were asked for: of tensors with a known shape, and of chunks that have their size in common
    with others; smallest first.
    """
    counted = Counter(table.size_bytes)
    known = {
        round_up(law.request(batch)) for row, law in zip(table, laws, strict=True) if row.shape is not None
    }
    return sorted(known | {size for size, count in counted.items() if count > 1})


def _growing(
    law: BatchScaling, row: Allocation, owner: Owner, batch: int, sizes: Sequence[int]
) -> BatchScaling:
    """A failure's report names tensors without shapes: those that are no weight's are taken to grow, so that
    the batch that is found is not too small.

    A chunk alone in its size may hold a smaller tensor, as BFC splits only what is twice as large: then the
    least is the least that another tensor needs of those that would get such a chunk.
    """
    if owner.kind is Kind.WORKSPACE and "Conv3DBackprop" in (
        row.node or ""
    ):  # it comes all at once at some batch, see estimation.volumes
        return replace(law, least=lambda other: law.request(other) if other >= batch else 0)
    if (
        law.scale is not Scale.FIXED
        or row.shape is not None
        or owner.kind in _STAYING
        or is_per_weight(row.node or "")
    ):
        return law
    chunk = row.requested_bytes or row.size_bytes
    asked = next((size for size in sizes if size <= chunk < 2 * size), chunk)
    return replace(proportional(chunk, batch), least=proportional(asked, batch).request)


def _nameless(step: ReplayedStep, owners: Sequence[Owner]) -> str | None:
    """What is taken of rows that could be anything."""
    unknown = sum(
        size
        for size, owner in zip(step.timeline.table.size_bytes, owners, strict=True)
        if owner.kind is Kind.UNATTRIBUTED
    )
    if unknown < _MIN_SHARE_TOLD * step.timeline.peak_bytes:
        return None
    return (
        f"{human(unknown)} of it has no name and is taken to grow with the batch; a traced step at a smaller"
        " batch would tell how much really does"
    )
