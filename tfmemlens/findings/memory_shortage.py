"""The request is larger than everything that was still free.

What it means: neither a free chunk nor what the pool may still take from the device covers the request. More
memory has to become free; moving things around inside the allocator cannot help, and neither can
`allow_growth`.
When it fires: the dump or its statistics show free memory, and the request exceeds all of it; or less than a
tenth of the limit is free, in pieces that are too small.
What to do: hold less at this moment. The breakdown by layer and kind says where the bytes are.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.growth import traced_function, tracings
from tfmemlens.findings.support.other_programs import less_on_the_device
from tfmemlens.findings.support.phase import runs_forward_alone
from tfmemlens.findings.support.prose_advice import JAVASCRIPT
from tfmemlens.findings.support.ranking import LEAST_OF_A_CAUSE, whole_bytes
from tfmemlens.findings.support.rows import (
    NEARLY_FULL,
    all_in_use,
    attributed,
    device_limit,
    failures,
    held,
    is_fragmented,
    is_full,
    of_kind,
    tensor_text,
    total,
)
from tfmemlens.findings.support.situation import situation
from tfmemlens.knowledge.bfc import may_hold
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import Size, human, human_size, percent

BASIS = Basis.FIGURES
EXPLAINS = "the missing bytes; of a device that is nearly full, the request"

_MIN_CHUNKS, _MIN_SHARE = 4, 0.5
"""So many chunks of one size, with so much of what is in use, are worth naming."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        books, request = moment.balance, moment.request
        limit = device_limit(case, moment)
        if books.requested is None or books.available is None or request is None:
            continue
        in_pieces = not books.missing and is_fragmented(books) and is_full(case, moment, NEARLY_FULL)
        if not books.missing and not in_pieces:
            continue
        if limit and books.requested > limit.high:
            continue
        state = moment.incident.state if moment.incident else None
        in_use = (
            f", {human_size(books.in_use)} of {human_size(limit)} in use" if books.in_use and limit else ""
        )
        of_limit = f" of {human_size(limit)}" if limit else ""
        line = state.line_of("in_use") or state.line_of("limit") if state else None
        missing = books.missing or 0
        full = "a full device" if is_full(case, moment) else "a nearly full device"
        short = full if in_pieces else f"{human(missing)} short"
        few = bool(limit) and missing < LEAST_OF_A_CAUSE * whole_bytes(case, moment)
        only = f"{_amount(books.available)}{of_limit} was free"
        yield Finding(
            severity=Severity.FACTOR if few and not in_pieces else Severity.CAUSE,
            headline=(
                f"{short}: {human(books.requested)} was requested,"
                f" {human_size(books.available)} was free{in_use}"
            ),
            because=f"{only}{', in pieces that are too small' if in_pieces else ''}{_mostly(case, moment)}",
            explains=books.requested if in_pieces else missing,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                Evidence(
                    f"in use: {human_size(books.in_use)}" if books.in_use else "the allocator's figures", line
                ),
            ),
            remedies=_of_a_list(case, moment) if attributed(moment) else _remedies(case, moment, request),
            moment=index,
        )


def _amount(free: Size) -> str:
    return f"only {human_size(free)}" if free.bytes else "nothing"


def _mostly(case: Case, moment: Moment) -> str:
    """The chunks of one size that are half of what a dump without names lists; without such, a function that
    TensorFlow warned of, since what its traces keep differs in size.
    """
    table = moment.attribution.table
    if attributed(moment) or not len(table):
        return ""
    few = _few_large_blocks(moment)
    if few:
        share = percent(sum(few), all_in_use(moment))
        return (
            f"; {len(few)} blocks of {human(min(few))} to {human(max(few))} hold {share} of what is in use,"
            " most likely one large weight with its gradient or slots: at the update most outputs of layers"
            " are free already"
        )
    traced = case.capture.surroundings.retraced if tracings(case) else None
    most = max(table, key=lambda row: row.total_bytes)
    whole = all_in_use(moment)
    if most.count < _MIN_CHUNKS or most.total_bytes < _MIN_SHARE * whole:
        if traced is None:
            return ""
        return f"; {traced_function(traced[1])[0]} is traced again and again, and each trace stays in memory"
    return (
        f"; {most.count} blocks of {human(most.size_bytes)} hold {human(most.total_bytes)},"
        f" {percent(most.total_bytes, whole)} of what is in use"
    )


def _of_a_list(case: Case, moment: Moment) -> tuple[Remedy, ...]:
    """What helps where names are listed and no kind prevails, which has a rule of its own."""
    listed = held(moment)
    outputs = total(of_kind(moment, Kind.ACTIVATION))
    with_gradients = outputs + total(of_kind(moment, Kind.GRADIENT))
    if not _OUTPUTS * listed <= outputs < _MIN_SHARE * listed <= with_gradients:
        return ()
    return remedies.offered(case, moment, "smaller-batch")


def _few_large_blocks(moment: Moment) -> list[int]:
    """Sizes of the two to four blocks that hold nearly all while a small part of an update failed: what
    stands at a step's end are weights and slots.
    """
    request = moment.request
    if request is None or request.owner.phase is not Phase.OPTIMIZER or not request.needed_bytes:
        return []
    rows = sorted(moment.attribution.table, key=lambda row: -row.size_bytes)
    sizes = [row.size_bytes for row in rows[:_MOST_BLOCKS] for _ in range(min(row.count, _MOST_BLOCKS + 1))]
    while sizes and sizes[-1] < _TIMES_THE_REQUEST * request.needed_bytes:
        sizes.pop()
    whole = all_in_use(moment)
    if not 1 < len(sizes) <= _MOST_BLOCKS or sum(sizes) < _NEARLY_ALL * whole:
        return []
    return sizes


def _remedies(case: Case, moment: Moment, request: Request) -> tuple[Remedy, ...]:
    """What helps where nobody knows who holds the memory."""
    if _few_large_blocks(moment):
        return (_LARGEST_WEIGHT, *remedies.offered(case, moment, "lighter-optimizer"))
    of_model = request.owner.kind in (Kind.PARAMETER, Kind.OPTIMIZER_SLOT)
    if of_model or request.owner.phase is Phase.OPTIMIZER:
        if _is_small_part(moment, request):
            return (Remedy(_SMALLER_BATCH, slug="smaller-batch"),)
        return (remedies.SMALLER_MODEL, *remedies.offered(case, moment, "lighter-optimizer"))
    program, batch = situation(case, moment).program, remedies.offered(case, moment, "smaller-batch")
    less = tuple(less_on_the_device(case, program))
    if program == "TensorFlow Serving":
        return less
    if program in JAVASCRIPT:
        return (*less, *batch)
    if program == "Triton":
        return (*batch, *less)
    return batch or less or ((_FEWER_AT_A_TIME,) if runs_forward_alone(case, request) else ())


_FEWER_AT_A_TIME = Remedy(
    "no gradient is taken here: run it for fewer samples at a time (begin with a quarter), and bring each"
    " part's result to the host",
    slug="smaller-prediction-batch",
)
_LARGEST_WEIGHT = Remedy(
    "make the largest weight smaller, most likely an embedding's table or a wide dense layer: fewer rows or"
    " columns; the batch does not change it",
    slug="smaller-model",
)
_MOST_BLOCKS, _TIMES_THE_REQUEST, _NEARLY_ALL = 4, 10, 0.8
"""So few blocks, each so much larger than the request, with so much of what is in use, are one weight's."""
_OUTPUTS = 0.25
"""The part of a list that outputs of layers make, at least, where a smaller batch is worth a word."""
_SMALLER_BATCH = (
    "halve the batch: the blocks in use that could be this weight, its gradient and slots are the smaller"
    " part; where the rest are activations, they shrink with the batch"
)
_ALIKE = 1.35
"""Blocks of up to this times a tensor most likely hold it: the allocator rounds."""
_SMALL_PART = 0.35
"""A model whose weights and slots make less than this of the chunks is not what fills the device."""


def _is_small_part(moment: Moment, request: Request) -> bool:
    """Whether chunks as large as the failing weight, its gradient and slots are few of those in use; where
    larger ones hold more, which no weight of this size explains.
    """
    need, table = request.needed_bytes, moment.attribution.table
    if not need or attributed(moment) or not len(table):
        return False
    alike = sum(row.total_bytes for row in table if need <= row.size_bytes < _ALIKE * need)
    larger = sum(
        row.total_bytes for row in table if row.size_bytes > need and not may_hold(row.size_bytes, need)
    )
    return alike < _SMALL_PART * all_in_use(moment) and larger > alike
