"""One single tensor is a large part of all the memory.

What it means: a handful of changes to one op decide the whole question; general advice about batch sizes may
miss the point.
When it fires: the failing tensor, or one that is held, takes at least 30 % of the device or of what is held.
What to do: look at the shape: the dimension that surprises you is the one to cut. Of 100,000 rows and more
that a gather, a concat or the like made nothing is told of a batch: they are gone through in parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings import request_alone
from tfmemlens.findings.support import remedies, samples
from tfmemlens.findings.support.named_sizes import in_words, named_sizes
from tfmemlens.findings.support.rows import (
    device_limit,
    held,
    in_pieces,
    is_fragmented,
    place,
    quote,
    requests,
    rows,
    tensor_text,
)
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.findings.support.vocabulary_sizes import held_alike
from tfmemlens.findings.support.weights import makes_first_values
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human, human_size, percent

BASIS = Basis.NAME
EXPLAINS = "the tensor"
GENERAL = True

_SHARE = 0.3


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        failed = request.failed
        limit = device_limit(case, moment)
        need = failed.tensor_bytes
        if (
            need is not None
            and failed.kind is RequestKind.TENSOR
            and (
                (limit and _SHARE * limit.bytes <= need <= limit.high)
                or (limit is None and 2 * GIB <= need <= 192 * GIB)
            )
        ):
            share = (
                f"{percent(need, limit.bytes)} of the device's limit of {human_size(limit)}" if limit else ""
            )
            of_limit = f", {share}" if share else ""
            moved = _moved_rows(case, moment, request)
            told = f"; {moved:,} rows that are {_HOW_MOVED} are hardly a batch" if moved else ""
            of_weights = request_alone.is_weight(request)
            told = "; by its shape a weight, as large whatever the batch" if of_weights else told
            if makes_first_values(request):
                told = "; it is a variable's first value, as large whatever the batch"
            yield Finding(
                severity=Severity.CAUSE,
                headline=f"the failing tensor alone takes {human(need)}{of_limit}",
                because=f"this tensor alone takes {share or human(need)}{told or _besides(case, moment)}",
                explains=need,
                evidence=(
                    Evidence(
                        f"requested: {tensor_text(moment)} at {place(moment) or 'an unnamed op'}", failed.line
                    ),
                ),
                remedies=tuple(_in_parts(moved) if moved else _remedies(case, moment, request)),
                moment=index,
                rules_out=("smaller-batch",) if moved or of_weights else (),
            )
        largest = rows(moment, lambda row: row.allocation.node is not None)[:1]
        if (
            largest
            and largest[0].allocation.size_bytes >= _SHARE * held(moment)
            and len(moment.attribution.table) > 2
        ):
            row = largest[0]
            yield Finding(
                severity=Severity.FACTOR,
                headline=(
                    f"{row.allocation.node} alone holds {human(row.allocation.size_bytes)},"
                    f" {percent(row.allocation.size_bytes, held(moment))} of what is held"
                ),
                explains=row.allocation.size_bytes,
                basis=Basis.MEASURED,
                evidence=(quote(row),),
                moment=index,
            )


_HOW_MOVED = "fetched or joined (edges, points, a whole set)"
_MANY_ROWS = 100_000
_MOVES_ROWS = regex(
    r"(?i)(?:\A|/)(?:\w*_)?(?:concat|gather(?:nd)?|repeat|tile|unsorted_?segment\w*|segment\w*|scatter\w*"
    r"|boolean_?mask\w*)(?:v2)?(?:_\d+)?\Z"
)
"""Ops that lay rows side by side, fetch, repeat or spread them."""


def _moved_rows(case: Case, moment: Moment, request: Request) -> int:
    """So many rows that such an op made, where nothing tells of a batch: edges, points, or a whole set; 0 of
    others.
    """
    shape, failed = request.failed.shape or (), request.failed
    many = len(shape) == 2 and (shape[0] or 0) >= _MANY_ROWS
    if not many or request.fixed or request.failed.creating or remedies.batch_of(case, moment):
        return 0
    moves = _MOVES_ROWS.search(failed.node or failed.op or "") or _MOVES_ROWS.search(failed.op or "")
    return (shape[0] or 0) if moves else 0


def _in_parts(many: int) -> Iterator[Remedy]:
    yield Remedy(
        f"go through these {many:,} rows in parts, and sum or reduce each part before the next; or make the"
        " rows shorter before they are fetched or joined",
        slug="in-blocks",
    )


def _remedies(case: Case, moment: Moment, request: Request) -> Iterator[Remedy]:
    if request.owner.kind is Kind.WORKSPACE:
        return
    if request_alone.is_weight(request):
        yield request_alone.SMALLER_LAYER
        return
    if samples.told_as_too_large(request) and (smaller := samples.made_smaller(request)):
        yield smaller
    if words := request_alone.vocabulary_of(case, request):
        yield words.remedy
        yield from request_alone.less_at_once(case, moment)
        return
    yield from remedies.offered(case, moment, "smaller-batch")


def _besides(case: Case, moment: Moment) -> str:
    """What its sizes are, else what was free where that is as much as was asked for."""
    named = _named(case, moment)
    if not named and moment.request and (words := request_alone.vocabulary_of(case, moment.request)):
        beside = held_alike(moment, moment.request)
        return "; ".join(("", words.told, *((beside,) if beside else ())))
    large = samples.told_as_too_large(moment.request) if moment.request else ""
    if large and not named:
        return f"; {large}"
    if named or moment.incident is None or not is_fragmented(moment.balance):
        return named
    return f"; {in_pieces(moment)}"


def _named(case: Case, moment: Moment) -> str:
    """What its sizes are, as far as the text names them."""
    request = moment.request
    if request is None or request.fixed or framework_of(case) != TENSORFLOW:
        return ""
    words = in_words(named_sizes(request.failed.shape, case.capture.surroundings))
    return f"; {words}" if words else ""
