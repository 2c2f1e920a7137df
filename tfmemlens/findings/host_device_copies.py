"""Copies between devices hold memory: the same tensor twice.

What it means: when an op on one device reads a tensor of another (CPU and GPU, or two GPUs), TensorFlow
copies it over (`_Send`, `_Recv`, `edge_12_x`), and the copy lives until its last reader is done. Ops without
a GPU kernel, variables pinned to the CPU and towers cause it.
When it fires: copies hold at least a tenth of what is alive at the peak of a traced step, or of the rows of a
report.
What to do: see which op needs the tensor there; place it with the data, or move the op's work to the same
device.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import code_snippets
from tfmemlens.findings.support.rows import held, of_kind, quote, total
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Certainty, Finding, Remedy, Severity
from tfmemlens.units import human, percent

BASIS = Basis.MEASURED
EXPLAINS = "the copies"


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        copies, whole = of_kind(moment, Kind.TRANSFER), held(moment)
        size = total(copies)
        if not whole or size < 0.1 * whole:
            continue
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                f"{human(size)}, {percent(size, whole)} of what is held, are copies of tensors that come from"
                " another device"
            ),
            because=f"{percent(size, whole)} of it are copies from another device",
            explains=size,
            evidence=tuple(map(quote, copies[:3])),
            remedies=(
                Remedy(
                    "find the op that reads them here: log the placement, and put it on the device where its"
                    " input lives",
                    code=code_snippets.log_placement(case.api),
                    saves_bytes=size,
                    certainty=Certainty.BOUND,
                    slug="find-the-reader",
                ),
            ),
            moment=index,
        )
