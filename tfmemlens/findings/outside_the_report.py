"""TensorFlow's list accounts for little of what is in use.

What it means: the list of `report_tensor_allocations_upon_oom` covers what the ops of the failing step
allocated and still hold. The allocator's own figure counts everything: weights and optimizer slots,
constants, tensors kept from earlier steps, iterators, other graphs and sessions in the process, and ops that
were running.
When it fires: report and allocator speak of the same device, and at least 40 % of the bytes in use are not
in the list. Where less than half of what was asked for is outside of it, that is no cause.
What to do: count the model (parameters x 4 bytes, times 3 with Adam). If the rest is larger than that,
something is kept between steps: tensors in Python lists, graphs built again and again, a second model, a
dataset held as a constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.ranking import LEAST_OF_A_CAUSE, whole_bytes
from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human, human_size, percent

BASIS = Basis.FIGURES
EXPLAINS = "what is in use and not in the list"
_LEAST_OF_REQUEST = 0.5
"""Less than this part of the request: to find it would not make room."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        books = moment.balance
        if not books.outside_report or not books.in_use or not books.in_use.bytes or not moment.incident:
            continue
        outside, in_use = books.outside_report.bytes, books.in_use.bytes
        if outside < 0.4 * in_use or outside < LEAST_OF_A_CAUSE * whole_bytes(case, moment):
            continue
        listed = "almost none" if outside >= 0.99 * in_use else f"only {percent(in_use - outside, in_use)}"
        beside = outside < _LEAST_OF_REQUEST * (moment.request.needed_bytes or 0 if moment.request else 0)
        what = f"TensorFlow's list accounts for {listed} of the {human(in_use)} in use"
        yield Finding(
            severity=Severity.CAUSE if outside >= 0.6 * in_use and not beside else Severity.FACTOR,
            headline=(
                f"{what}; the other {human_size(books.outside_report)} may be weights, optimizer slots,"
                " constants, buffers of running ops, or tensors kept from earlier steps"
            ),
            because=(
                f"{what}; the rest may be weights, slots, constants, buffers of running ops, or tensors kept"
                " from earlier steps"
            ),
            explains=outside,
            evidence=(
                Evidence(f"in use: {human_size(books.in_use)}", moment.incident.state.line_of("in_use")),
                Evidence(
                    f"in the list: {human_size(books.total)}",
                    moment.incident.holders[0].header if moment.incident.holders else None,
                ),
            ),
            remedies=() if beside else tuple(_remedies(case)),
            moment=index,
        )


def _remedies(case: Case) -> Iterator[Remedy]:
    if parameters := case.capture.surroundings.parameters:
        size = 4 * parameters[0]
        yield Remedy(
            f"the model has {parameters[0]:,} parameters, {human(size)} in float32, and {human(3 * size)}"
            " with Adam's two slots: compare",
            slug="count-parameters",
        )
    else:
        yield Remedy(
            "print how much weights and slots take; what is in use beyond that, something else keeps",
            code_snippets.size_of_weights(case.api),
            slug="count-parameters",
        )
    yield Remedy(
        "keep nothing between steps that need not be there: numbers instead of tensors in lists, one model"
        " instead of one for each pass of a loop, batches instead of a whole data set as a constant",
        slug="look-between-steps",
    )
