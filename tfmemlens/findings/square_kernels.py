"""The largest chunks are as large as a kernel between two layers as wide as the one that failed.

What it means: a small request fails on a full device, and says only how wide its layer is: [16, 3500]. Many
chunks of 3,500 x 3,500 numbers beside it are kernels of such layers, their gradients and the optimizer's
slots. No batch makes these smaller.
When it fires: a dump without names, a request of a matrix whose last size is no power of two, and at least
three chunks of exactly that size squared, which hold a quarter of what is in use.
What to do: narrower layers, a lighter optimizer; clip each gradient by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.clipped_by_global_norm import CLIP_EACH
from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import all_in_use, attributed, chunk_evidence, requests, tensor_text
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.case import Case, Moment, Request
from tfmemlens.model.finding import Basis, Certainty, Evidence, Finding, Remedy, Severity
from tfmemlens.units import human, percent, round_up

BASIS = Basis.SHAPE
EXPLAINS = "the blocks of that size"

_LEAST_WIDTH, _LEAST_COUNT, _LEAST_SHARE = 256, 3, 0.25
_FAR_SMALLER = 4
"""The request is smaller than one of the chunks by this factor: it is none of them."""
_ITEM = 4
"""Bytes of a number of a trained weight: float32, also under mixed precision."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment, request in requests(case):
        row = _kernels(moment, request)
        if row is None:
            continue
        width = (request.failed.shape or (0,))[-1] or 0
        share = percent(row.total_bytes, all_in_use(moment))
        what = (
            f"{row.count} blocks of {human(row.size_bytes)}, {share} of what is in use, are as large as a"
            f" kernel [{width},{width}] between two layers as wide as this one: most likely weights,"
            " gradients and slots, which no smaller batch shrinks"
        )
        yield Finding(
            severity=Severity.CAUSE,
            headline=what,
            because=what,
            explains=row.total_bytes,
            evidence=(
                Evidence(f"requested: {tensor_text(moment)}", request.failed.line),
                *chunk_evidence([row]),
            ),
            remedies=(
                Remedy(
                    f"make these layers narrower: half of {width:,} units leave a quarter of each kernel,"
                    " its gradient and slots",
                    saves_bytes=row.total_bytes - row.total_bytes // 4,
                    certainty=Certainty.BOUND,
                    slug="narrower-layer",
                ),
                *remedies.offered(case, moment, "lighter-optimizer"),
                *((CLIP_EACH,) if case.capture.surroundings.clipping else ()),
            ),
            moment=index,
            rules_out=("smaller-batch", "gradient-accumulation", "mixed-precision"),
        )


def _kernels(moment: Moment, request: Request) -> Allocation | None:
    """The chunks of the width squared, where they are many and hold much."""
    shape, need = request.failed.shape, request.needed_bytes
    width = shape[-1] if shape and len(shape) == 2 else None
    if attributed(moment) or not width or width < _LEAST_WIDTH or not width & (width - 1):
        return None
    size = round_up(width * width * _ITEM)
    if not need or need * _FAR_SMALLER > size:
        return None
    alike = (row for row in moment.attribution.table if row.size_bytes == size and row.count >= _LEAST_COUNT)
    row = next(alike, None)
    return row if row and row.total_bytes >= _LEAST_SHARE * all_in_use(moment) else None
