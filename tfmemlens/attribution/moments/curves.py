"""How a timeline's curve was got, and what that leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from tfmemlens.model.allocation import TEMPORARY
from tfmemlens.model.timeline import BaselineSource, CurveSource, Timeline

_MISSING = "Temporary buffers inside ops are missing"
_SUMMED = "Temporary buffers count with one figure for the whole of their op"


def _worth(timeline: Timeline) -> str:
    if timeline.precision == "lower bound":
        return "the true peak is higher, read this one as a lower bound"
    return (
        "on real traces that were read both ways this came within 9 % of the true peak, or 13 % above it"
        " where variables get new buffers within the step"
    )


def of_curve(timeline: Timeline) -> Iterator[str]:
    """Sentences for curves that are not the allocator's own, or have no clock; nothing for the exact ones."""
    if timeline.predicted:
        return
    if timeline.curve_source is CurveSource.LIVENESS:
        yield (
            "The curve comes from the outputs' liveness, not from allocation records: an output counts from"
            " the end of its op to the end of its last reader."
            f" {_SUMMED if TEMPORARY in timeline.table.purpose else _MISSING}: {_worth(timeline)}."
        )
        if timeline.baseline_source is BaselineSource.STANDING:
            yield (
                "What was in use before the step is the sum of the variables and constants that it read: a"
                " lower bound, too."
            )
    elif timeline.curve_source is CurveSource.COUNTERS:
        yield (
            "The curve is a counter that somebody else summed up: it has no names, and the true peak may be"
            " higher."
        )
    if timeline.curve_source is CurveSource.LOG and not timeline.ordinal:
        yield (
            "Times are the stamps of the log's lines, which logging itself slows down; the order is that of"
            " the lines."
        )
    if timeline.curve_source is CurveSource.SCHEDULE:
        yield (
            "The axis counts the program's instructions, not time. The arena is taken for as long as the"
            " program runs: the curve shows which values lie in it."
        )
    elif timeline.ordinal:
        yield (
            "The log has no clock: the axis counts its lines, so it shows the order of allocations, not how"
            " long each lived."
        )
