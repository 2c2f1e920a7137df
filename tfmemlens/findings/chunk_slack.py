"""Memory is lost to allocator rounding: chunks are larger than the tensors in them.

What it means: BFC gives out a whole free chunk unless it is at least twice the request or 128 MiB larger; the
rest of the chunk is lost until the tensor dies. Printed sizes are chunk sizes, so equal tensors can show
unequal figures.
When it fires: the dump's bins, or the tensors of a traced step, show at least 5 % of the in-use bytes lost
to rounding, or a figure of the list is a known tensor and more.
What to do: usually nothing; where functions are traced again and again, keep shapes the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support.rows import Row, row_name, rows
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human, human_size, percent

BASIS = Basis.FIGURES
EXPLAINS = "bytes inside blocks beyond what was requested"

_SAME_SHAPES = (
    Remedy(
        "keep shapes constant from step to step, so that each tensor finds a block of its own size",
        slug="constant-shapes",
    ),
)
"""Advised where functions are traced anew, for other shapes as a rule: constant ones need no such advice."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        books = moment.balance
        if (
            books.waste
            and books.in_use
            and books.in_use.bytes
            and books.waste.bytes >= 0.05 * books.in_use.bytes
        ):
            share = books.waste.bytes / books.in_use.bytes
            yield Finding(
                severity=Severity.FACTOR if share >= 0.15 else Severity.NOTE,
                headline=(
                    f"{human_size(books.waste)}, {percent(books.waste.bytes, books.in_use.bytes)} of what is"
                    " in use, is lost to allocator rounding"
                ),
                explains=books.waste.bytes,
                evidence=(
                    Evidence(
                        f"blocks in use take {human_size(books.in_use)}, what was asked for"
                        f" {human(books.in_use.bytes - books.waste.bytes)}"
                    ),
                    *_largest_waste(rows(moment)),
                ),
                remedies=_SAME_SHAPES if case.capture.surroundings.retraced else (),
                moment=index,
            )
            continue
        slack = (
            []
            if moment.incident is None
            else [row for row in rows(moment) if row.naming and row.naming.best.slack_bytes >= 4096]
        )
        if slack:
            lost = sum(row.naming.best.slack_bytes * row.allocation.count for row in slack if row.naming)
            first = slack[0]
            assert first.naming
            yield Finding(
                severity=Severity.NOTE,
                headline=(
                    f"figures that differ slightly are the same tensor in larger blocks: {human(lost)}"
                    f" lost to allocator rounding in {len(slack)} lines"
                ),
                explains=lost,
                evidence=(
                    Evidence(
                        f"{first.naming.best.tensor} = {human(first.naming.best.tensor.bytes or 0)} in a"
                        f" block {human(first.naming.best.slack_bytes)} larger",
                        first.allocation.line,
                    ),
                ),
                detail=(
                    "BFC does not split a small rest off a free block: only when it is at least twice the"
                    " request, or 128 MiB larger."
                ),
                moment=index,
            )


def _largest_waste(candidates: list[Row]) -> Iterator[Evidence]:
    waste = [
        (row.allocation.size_bytes - row.allocation.requested_bytes, row)
        for row in candidates
        if row.allocation.requested_bytes
    ]
    for extra, row in sorted(waste, key=lambda pair: -pair[0])[:2]:
        if extra > 0:
            yield Evidence(
                f"{row_name(row)}: {human(row.allocation.requested_bytes or 0)} in a block of"
                f" {human(row.allocation.size_bytes)}"
            )
