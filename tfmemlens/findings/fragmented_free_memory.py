"""Enough memory was free, but no free block was large enough.

What it means: a tensor needs one contiguous chunk; scattered free chunks cannot share it. BFC never moves a
tensor.
When it fires: the free bytes cover the failed request, and neither the largest free block nor what the pool
may still grow by does. Where they cover it only just, the device is nearly full, and fragmentation is a
factor rather than the cause.
What to do: keep shapes the same from step to step (pad or bucket them), so that a freed chunk fits the next
request; allocate big, long-lived tensors first; on TF 2.5+ with CUDA 11.2+ the driver's allocator can re-map
pages (`TF_GPU_ALLOCATOR=cuda_malloc_async`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import device_limit, failures
from tfmemlens.model.case import Balance, Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human, human_size

BASIS = Basis.MEASURED
EXPLAINS = "the free bytes that could not be used"

_REMEDIES = (
    Remedy(
        "pad or bucket inputs to a few fixed shapes, so that freed chunks fit again", slug="constant-shapes"
    ),
    Remedy(
        "let the driver's pool re-map pages instead of BFC (TF 2.5+, CUDA 11.2+)",
        "export TF_GPU_ALLOCATOR=cuda_malloc_async",
        slug="async-allocator",
    ),
    Remedy(
        "create the biggest tensors (embeddings, feature buffers) before training starts, while memory is"
        " still in one block",
        slug="large-tensors-first",
    ),
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        books = moment.balance
        if not moment.incident or not is_fragmented(books):
            continue
        assert books.available and books.largest_free_chunk and books.requested
        state = moment.incident.state
        pieces = f" in {state.free_chunks} blocks" if state.free_chunks else ""
        plenty = books.available.bytes >= 1.25 * books.requested
        yield Finding(
            severity=Severity.CAUSE if plenty else Severity.FACTOR,
            headline=(
                f"{human(books.requested)} did not fit although {human_size(books.available)} was free: the"
                f" largest free block is {human_size(books.largest_free_chunk)}"
            ),
            because=(
                f"{human_size(books.available)} was free{pieces}, but the largest free block is"
                f" {human_size(books.largest_free_chunk)}"
            ),
            explains=books.available.bytes,
            evidence=(
                Evidence(
                    f"largest free block: {human_size(books.largest_free_chunk)}",
                    state.line_of("largest_free_chunk"),
                ),
                Evidence(
                    f"free in the pool: {human_size(books.free) if books.free else 'unknown'}{pieces}",
                    state.line_of("pool"),
                ),
            ),
            remedies=_REMEDIES,
            moment=index,
        )


def _weight(case: Case, moment: Moment) -> float:
    """The more of the device lies free, the less anything that is held explains."""
    limit = device_limit(case, moment)
    free = moment.balance.available.bytes if moment.balance.available else 0
    return min(0.3 + free / limit.bytes, 0.9) if limit and limit.bytes else 0.6


def is_fragmented(books: Balance) -> bool:
    """Enough in sum, not enough in one piece; only where all the figures are known."""
    if books.requested is None or books.available is None or books.largest_free_chunk is None:
        return False
    growth = books.growable.bytes if books.growable else 0
    return books.requested <= books.available.low and books.requested > max(
        books.largest_free_chunk.high, growth
    )
