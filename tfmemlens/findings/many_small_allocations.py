"""The list leaves out many nodes that together hold a lot.

What it means: TensorFlow prints at most 101 lines, or as many as cover 99 % of the bytes. A big remainder
means that the line limit cut the list: very many allocations of similar size, usually one loop or one
repeated layer.
When it fires: `Remaining N nodes` holds more than 1 % of the report.
What to do: read the listed lines as samples of a pattern; trace a step for the whole picture.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.rows import failures
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human_size, percent

BASIS = Basis.MEASURED
EXPLAINS = "what the list leaves out"


def check(case: Case) -> Iterator[Finding]:
    for index, moment in failures(case):
        books = moment.balance
        if (
            not books.unlisted_nodes
            or books.unlisted.bytes <= 0.011 * books.total.bytes
            or moment.incident is None
        ):
            continue
        tail = next((block.tail for block in moment.incident.holders if block.tail), None)
        listed = sum(len(block.table) for block in moment.incident.holders)
        yield Finding(
            severity=Severity.FACTOR if books.unlisted.bytes > 0.3 * books.total.bytes else Severity.NOTE,
            headline=(
                f"{books.unlisted_nodes:,} node executions that the list leaves out hold"
                f" {human_size(books.unlisted)}, {percent(books.unlisted.bytes, books.total.bytes)} of the"
                " report"
            ),
            explains=books.unlisted.bytes,
            evidence=(Evidence(f"behind {listed} lines" if listed else "the tail of the list", tail),),
            detail=(
                "The figure is the sum over all of them, not of each. The same name on several lines means"
                " several executions of that node."
            ),
            remedies=(
                ()
                if case.capture.timelines
                else (
                    Remedy(
                        "record one good step at a smaller batch: it shows every tensor, this list only"
                        " the largest",
                        code_snippets.profile_memory(case.api),
                        slug="record-a-step",
                    ),
                )
            ),
            moment=index,
        )
