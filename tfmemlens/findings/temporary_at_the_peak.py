"""Temporary buffers of running ops make the peak.

What it means: while a kernel runs it may take a workspace (im2col buffer, cuDNN or oneDNN workspace) that is
freed when the kernel returns. Where such a workspace is alive at the peak, the peak is as high as it is
because of that one op, and not because of what the model keeps.
When it fires: at the peak of a traced step, temporaries of running ops hold at least a quarter of all that is
in use.
What to do: make that op's temporary buffer smaller (its resolution, kernel or channels; another algorithm),
or keep two such ops from running at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import held, of_kind, row_name, total
from tfmemlens.model.attribution import Kind
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Evidence, Finding, Remedy, Severity
from tfmemlens.model.timeline import Timeline
from tfmemlens.model.what_if import Saving
from tfmemlens.units import human, percent

BASIS = Basis.TRACED
EXPLAINS = "the temporary buffers"
_LEAST_ALONE = 0.05
"""Of what is held: what one buffer must save by itself to be told."""


def check(case: Case) -> Iterator[Finding]:
    for index, moment in enumerate(case.moments):
        scratch = of_kind(moment, Kind.WORKSPACE)
        whole = held(moment)
        if moment.timeline is None or not scratch or total(scratch) < 0.25 * whole:
            continue
        largest = scratch[0]
        where = largest.owner.layer or row_name(largest)
        when = "at that moment" if moment.below_peak else "at the peak"
        most = "most" if 2 * largest.allocation.total_bytes > total(scratch) else "the largest part"
        all_of_it = "what is held" if moment.below_peak else "the peak"
        yield Finding(
            severity=Severity.CAUSE,
            headline=(
                f"{human(total(scratch))}, {percent(total(scratch), whole)} of {all_of_it}, is in temporary"
                f" buffers of ops running {when}, {most} of it in {where}"
            ),
            because=(
                f"{percent(total(scratch), whole)} of it is in temporary buffers of ops running {when},"
                f" {most} of it in {where}"
            ),
            explains=total(scratch),
            evidence=tuple(
                Evidence(f"{row_name(row)}: {human(row.allocation.total_bytes)}")
                for row in scratch[:3]
                if row.allocation.total_bytes > 0.01 * total(scratch)
            ),
            remedies=(
                _smaller(where, case.without(index, largest.allocation, "smaller-temporary"), whole),
                *(
                    _other_kernels(moment.timeline)
                    if "Conv" in f"{row_name(largest)} {largest.owner.op} {largest.allocation.op}"
                    else ()
                ),
            ),
            moment=index,
        )


def _smaller(where: str, alone: Saving, whole: int) -> Remedy:
    """The layer made smaller; without a figure where the step holds about as much at other moments, which the
    same change lowers, too.
    """
    text = f"make {where} smaller (fewer channels or smaller inputs): its temporary buffer makes the peak"
    if (alone.best_bytes or 0) < _LEAST_ALONE * whole:
        return Remedy(f"{text}, and the step holds about as much at other moments", slug="smaller-temporary")
    return remedies.of_saving_alone(text, alone)


def _other_kernels(timeline: Timeline) -> Iterator[Remedy]:
    """Kernels with smaller temporary buffers, where there are some."""
    if "GPU" in timeline.device.upper():
        yield remedies.cudnn_workspace("limit cuDNN's workspace", 512)
    else:
        yield remedies.onednn()
