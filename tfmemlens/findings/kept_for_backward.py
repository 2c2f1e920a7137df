"""Tensors kept for the backward pass: made in the forward pass, needed again much later.

What it means: an activation that is alive at the peak is kept because some op still has to read it, usually
the gradient of the op that made or consumed it. The longer the wait, the more it pays to compute the tensor
again instead.
When it fires: at the peak of a traced step there are forward tensors whose next reader is a gradient op that
runs after the peak, and they hold at least a fifth of all that is in use. Readers are known only with
partition graphs (`output_partition_graphs=True`).
What to do: recompute these tensors in backward (gradient checkpointing), beginning with the largest that
waits longest.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.findings.support import remedies
from tfmemlens.findings.support.rows import Row, held, of_kind, total
from tfmemlens.model.attribution import Kind, Phase
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Evidence, Finding, Severity
from tfmemlens.model.graph import Graph
from tfmemlens.units import human, percent

BASIS = Basis.TRACED
EXPLAINS = "what a gradient op reads later"


def check(case: Case) -> Iterator[Finding]:
    graph = case.capture.graph
    for index, moment in enumerate(case.moments):
        if moment.timeline is None or graph is None or moment.peak_micros is None:
            continue
        waiting = [
            (row, reader)
            for row in of_kind(moment, Kind.ACTIVATION, Kind.LAYOUT_TRANSPOSE)
            if (reader := _late_reader(row, moment, graph))
        ]
        size = total([row for row, _ in waiting])
        if size < 0.2 * held(moment):
            continue
        yield Finding(
            severity=Severity.FACTOR,
            headline=(
                f"{human(size)}, {percent(size, held(moment))} of the peak, is kept for the backward pass"
            ),
            because=(f"{percent(size, held(moment))} of it is kept for the backward pass"),
            explains=size,
            evidence=tuple(
                Evidence(
                    f"{row.allocation.node}: {human(row.allocation.total_bytes)} kept{_span(row, moment)} for"
                    f" {reader}"
                )
                for row, reader in waiting[:4]
            ),
            remedies=remedies.offered(case, moment, "recompute"),
            moment=index,
        )


def _late_reader(row: Row, moment: Moment, graph: Graph) -> str | None:
    """The gradient op that reads the tensor last, if it had not run at the peak."""
    assert moment.timeline
    runs, ended = moment.timeline.runs, moment.timeline.executions.end_micros
    readers = [name for name, _, _ in graph.consumers.get(row.allocation.node or "", ())]
    ends = [(ended[runs[name]], name) for name in readers if name in runs]
    late = [(end, name) for end, name in ends if end > (moment.peak_micros or 0)]
    latest = max(late, default=None)
    return latest[1] if latest and row.owner.phase is Phase.FORWARD and ("grad" in latest[1]) else None


def _span(row: Row, moment: Moment) -> str:
    start, end = row.allocation.start_micros, row.allocation.end_micros
    if start is None or end is None or moment.timeline is None:
        return ""
    origin = moment.timeline.events[0][0]
    return f" from {(start - origin) / 1000:.1f} ms to {(end - origin) / 1000:.1f} ms"
