"""Enough memory was free, but no free block was large enough.

What it means: a tensor needs one contiguous chunk; scattered free chunks cannot share it. BFC never moves a
tensor.
When it fires: the free bytes cover the failed request, and neither the largest free block nor what the pool
may still grow by does. Where they cover it only just, fragmentation is a factor rather than the cause; where
they are less than a tenth of the limit, the device is nearly full, and it is a note. It is a factor, too,
while weights are being made and where a tensor is joined to itself: both leave holes behind.
What to do: keep shapes the same from step to step (pad or bucket them), so that a freed chunk fits the next
request; allocate big, long-lived tensors first; on TF 2.5+ with CUDA 11.2+ the driver's allocator can re-map
pages (`TF_GPU_ALLOCATOR=cuda_malloc_async`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.batch_bound import batch_bound
from tfmemlens.findings.support.fit_call import fit_call
from tfmemlens.findings.support.kept import gathered_by_a_metric, joined_to_itself
from tfmemlens.findings.support.program_lines import rows_by_name
from tfmemlens.findings.support.prose_advice import of_a_server
from tfmemlens.findings.support.rows import (
    NEARLY_FULL,
    device_limit,
    failures,
    in_pieces,
    is_fragmented,
    is_full,
    of_blocks,
)
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import Size, human, human_size, percent
from tfmemlens.values import replace

BASIS = Basis.FIGURES
EXPLAINS = "the free bytes that could not be used"

_GOOD_PART, _FEW_BLOCKS = 0.25, 6
_MOST = 0.5
_LARGE_PART = 0.3
"""Of the limit: a tensor this large is worth a word before the pieces that it did not fit into."""
_LARGEST_STEP_FIRST = Remedy(
    "run one step with the largest batch and the longest input first, while the memory is still in one piece",
    slug="large-tensors-first",
)
_LARGEST_WEIGHTS_FIRST = Remedy(
    "create the largest tensors before training starts, while the memory is still in one piece",
    slug="large-tensors-first",
)


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        books = moment.balance
        if not moment.incident or not is_fragmented(books) or is_full(case, moment):
            continue
        assert books.available and books.requested
        state = moment.incident.state
        pieces = f" in {of_blocks(state.free_chunks)}" if state.free_chunks else ""
        yield Finding(
            severity=_severity(case, moment),
            headline=f"{human(books.requested)} did not fit although {in_pieces(moment)}",
            because=_because(case, moment),
            explains=books.available.bytes,
            evidence=(
                *(
                    (
                        Evidence(
                            f"largest free block: {human_size(books.largest_free_chunk)}",
                            state.line_of("largest_free_chunk"),
                        ),
                    )
                    if books.largest_free_chunk
                    else ()
                ),
                Evidence(
                    f"free in the pool: {human_size(books.free) if books.free else 'unknown'}{pieces}",
                    state.line_of("pool"),
                ),
            ),
            remedies=tuple(_remedies(case, moment)),
            moment=index,
        )


def _because(case: Case, moment: Moment) -> str:
    """How much of the device this tensor asks for, what its rows are, then the pieces."""
    request = moment.request
    rows = request.failed.shape[0] if request and request.failed.shape else None
    named = rows_by_name(case.capture.surroundings, rows, remedies.batch_of(case, moment))
    clauses = (named and f"{named}; ", _large_part(case, moment), in_pieces(moment))
    return "".join(clauses)


def _large_part(case: Case, moment: Moment) -> str:
    """How much of the device one tensor asks for where that is much: any scattering is too much for it."""
    need, limit = moment.balance.requested or 0, device_limit(case, moment)
    if not limit or need < _LARGE_PART * limit.bytes:
        return ""
    return f"this one tensor takes {percent(need, limit.bytes)} of the limit; "


def _is_most(case: Case, moment: Moment) -> bool:
    """Whether one tensor asks for most of the device: no order of steps leaves it such a piece."""
    limit = device_limit(case, moment)
    return bool(limit and (moment.balance.requested or 0) >= _MOST * limit.bytes)


def _severity(case: Case, moment: Moment) -> Severity:
    if is_full(case, moment, NEARLY_FULL):
        return Severity.NOTE  # the shortage is the cause
    return Severity.CAUSE if _much(case, moment) and not _grows(case, moment) else Severity.FACTOR


def _remedies(case: Case, moment: Moment) -> Iterator[Remedy]:
    """First what mends the holes without a price, then what surely fits; in a step of a training whose shapes
    nobody says to differ that is a smaller batch. Where the backward pass is still to come, a request that
    fits the free block ends nothing; and in the first step no freed block waits for another shape.
    """
    if situation(case, moment).program == "TensorFlow Serving":
        yield from of_a_server(case)
        return
    bound = batch_bound(case, moment)
    more_to_come = bound is not None and bound.backward_to_come
    exit_ = tuple(_nearest_exit(case, moment)) if not more_to_come else ()
    of_weights = _of_weights(moment)
    first = _leaves_little(moment) and not of_weights
    if not exit_ and not of_weights and (more_to_come or first or situation(case, moment).training):
        exit_ = remedies.offered(case, moment, "smaller-batch")
    yield from (*exit_, _remapped(moment)) if first else (remedies.REMAPPED_PAGES, *exit_)
    if first and not _differs(case):
        return
    if of_weights:
        yield _LARGEST_WEIGHTS_FIRST
    elif not (_has_one_shape(case) or more_to_come or _grows(case, moment) or _is_most(case, moment)):
        yield remedies.FIXED_SHAPES
        yield _LARGEST_STEP_FIRST


_LITTLE = 0.25
"""Of the request: so little beyond it would be left for the next."""


def _leaves_little(moment: Moment) -> bool:
    """Whether the free memory in one piece would hold this request and next to nothing more, in a step that
    needs more than any before it: what follows fails instead.
    """
    books = moment.balance
    if not (books.available and books.requested and books.in_use and books.peak):
        return False
    beyond = books.in_use.bytes + books.requested > books.peak.bytes
    return beyond and books.available.bytes < (1 + _LITTLE) * books.requested


def _remapped(moment: Moment) -> Remedy:
    """The driver's pool, with what it can gain here."""
    books = moment.balance
    left = (
        human(max(books.available.bytes - books.requested, 0)) if books.available and books.requested else ""
    )
    return replace(
        remedies.REMAPPED_PAGES,
        text=f"{remedies.REMAPPED_PAGES.text}: this request then fits, and {left} is left",
    )


def _differs(case: Case) -> bool:
    """Whether steps went well before, or the text tells of shapes that differ: then a step of another shape
    may have left the holes.
    """
    told = case.capture.surroundings
    return bool(told.progress or told.steps or told.lengths) or any(map(told.shows, _OF_SHAPES))


_OF_SHAPES = ("failing late", "many shapes", "retracing in words")


def _nearest_exit(case: Case, moment: Moment) -> Iterator[Remedy]:
    """The largest batch whose request fits the largest free block, where the batch is known: halved, so
    that it stays a usual size.
    """
    request, block = moment.request, moment.balance.largest_free_chunk
    need = request.failed.tensor_bytes if request else None
    if request is None or block is None or not need or not request.batch or request.fixed:
        return
    if joined_to_itself(request, case):
        return  # rows that were gathered, whatever the batch
    sample, batch = need / request.batch, request.batch
    while batch > 1 and batch * sample > block.low:
        batch //= 2
    if batch < request.batch and batch * sample <= block.low:
        asks = human(round(batch * sample))
        yield Remedy(
            f"batch {request.batch} -> {batch}: this request then takes {asks}, which fits the free block of"
            f" {human_size(block)}",
            slug="batch-for-the-block",
        )


def _of_weights(moment: Moment) -> bool:
    """Whether a weight or a slot was asked for, whose shape no padding of inputs changes."""
    return bool(moment.request and moment.request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT))


def _has_one_shape(case: Case) -> bool:
    """Whether the program's models say that nothing but the batch differs from step to step, or its call of
    fit is given arrays, of which alone it takes a `batch_size`.
    """
    fit = fit_call(case.capture.surroundings)
    if fit and fit.batch:
        return True
    model = case.capture.live_model
    outputs = model.outputs if model else ()
    return bool(outputs) and all(shape and None not in shape[1:] for _, shape in outputs)


def _grows(case: Case, moment: Moment) -> bool:
    """Whether the holes come by themselves: weights are being made one after another, or one tensor grows and
    leaves its smaller copies behind.
    """
    request = moment.request
    grown = (joined_to_itself(request, case) or gathered_by_a_metric(request)) if request else None
    return grown is not None or _of_weights(moment)


def _much(case: Case, moment: Moment) -> bool:
    """Whether so much was free that its lying in pieces is the cause, rather than a device nearly full."""
    books, limit = moment.balance, device_limit(case, moment)
    if books.available is None or books.requested is None:
        return False
    of_limit = not limit or books.available.bytes >= NEARLY_FULL * limit.bytes
    return of_limit and books.available.bytes >= 1.25 * books.requested and not _too_large(moment, limit)


def _too_large(moment: Moment, limit: Size | None) -> bool:
    """Whether a few tensors, each a good part of the device, leave no room for one more of their kind: that
    is no scattering of what many steps left behind.
    """
    books, state = moment.balance, moment.incident.state if moment.incident else None
    blocks = (state.free_chunks if state else 0) or 0
    large = bool(limit and books.requested and books.requested >= _GOOD_PART * limit.bytes)
    return large and 0 < blocks <= _FEW_BLOCKS
