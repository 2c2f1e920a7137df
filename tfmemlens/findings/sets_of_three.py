"""A dump's chunks stand in sets of three: weights, and the two moments that Adam keeps of each.

What it means: a dump has no names, but an optimizer makes its slots in the shapes of the weights. Where
nearly every size of chunk is there three times, or six, or nine, these are weights with two slots each, and
the batch has no part in them; where it is four times, the gradients of all weights are alive as well.
When it fires: no report names owners; of the sizes above 64 KiB four and more, and most of them, have counts
that are all multiples of three (or all of four), two of them three (or four) itself; and they hold half of
what is in use.
What to do: an optimizer that keeps less, or a smaller model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.rows import all_in_use, attributed, chunk_evidence, requests, tensor_text
from tfmemlens.findings.support.situation import TENSORFLOW, framework_of
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.units import KIB, human, percent, round_up

BASIS = Basis.SHAPE
EXPLAINS = "the blocks that stand in sets"

_LEAST_BYTES = 64 * KIB
_LEAST_SIZES = 4
_MOST_OF_THEM = 0.75
_LEAST_ONCE = 2
"""Sizes that stand there in one set alone: twelve layers alike make counts that are multiples of three,"
" too."""
_HALF = 0.5


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        if attributed(moment) or framework_of(case) != TENSORFLOW:
            continue
        times, rows = _sets(moment)
        whole = all_in_use(moment)
        size = sum(row.total_bytes for row in rows)
        if not rows or size < _HALF * whole:
            continue
        which = (
            "weights with the two moments of Adam" if times == 3 else "weights, gradients and Adam's moments"
        )
        many = f"{len(rows)} sizes of blocks are there {_TIMES[times]} each, or a multiple of it"
        what = f"{many}, as {which} are: {human(size)}, {percent(size, whole)} of what is in use"
        again = any(row.size_bytes == round_up(request.needed_bytes or 0) for row in rows)
        more = ", and one more of these sizes was asked for" if again else ""
        yield Finding(
            severity=Severity.CAUSE,
            headline=f"{what}{more}",
            because=f"{what}{more}",
            explains=size,
            evidence=(
                *chunk_evidence(list(rows)),
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
            ),
            detail="A dump has no names; that these are weights and slots is likely, not proved.",
            remedies=(
                Remedy(
                    "if these are an optimizer's copies, use one that keeps less: plain SGD keeps nothing"
                    " beside the weights, momentum one copy",
                    slug="lighter-optimizer",
                ),
                Remedy(
                    "or make the model smaller, above all its largest weights"
                    f" ({human(rows[0].size_bytes)}): a smaller batch does not make these blocks smaller",
                    slug="smaller-model",
                ),
            ),
            moment=index,
        )


_TIMES = {3: "three times", 4: "four times"}


def _sets(moment: Moment) -> tuple[int, Sequence[Allocation]]:
    """How many stand in each set, and the sizes whose counts are multiples of it, the most bytes first."""
    sizes = [row for row in moment.attribution.table if row.size_bytes >= _LEAST_BYTES]
    for times in _TIMES:
        alike = sorted(
            (row for row in sizes if row.count % times == 0), key=lambda row: row.total_bytes, reverse=True
        )
        once = sum(row.count == times for row in alike)
        if len(alike) >= _LEAST_SIZES and len(alike) >= _MOST_OF_THEM * len(sizes) and once >= _LEAST_ONCE:
            return times, alike
    return 0, ()
