"""A picture of a traced step with matplotlib: the live curve, stacked; the largest layers at the peak; the
lives of the largest tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfmemlens.model.case import Moment
from tfmemlens.model.series import LiveCurve, StackedSeries
from tfmemlens.model.timeline import Timeline
from tfmemlens.renderers.terminal._blocks import shorten
from tfmemlens.units import GIB, KIB, MIB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLIND_SAFE = (
    "#9aa3ad",
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#5d3a9b",
    "#7f7f7f",
)
"""Okabe and Ito's colours, which all kinds of colour vision tell apart, with grey for what stood before the
step.
"""


def figure(curve: LiveCurve) -> Figure:
    """The three pictures on one sheet; the moment that the report shows first is marked."""
    from matplotlib.figure import Figure

    report, series, key = curve.report, curve.series, curve.key
    moment = next(moment for moment in report.case.moments if moment.timeline)
    sheet = Figure(figsize=(11, 9.5), layout="constrained")
    above, layers, lives = sheet.subplots(3, 1, height_ratios=(5, 3, 3))
    unit, name = _unit(max(moment.timeline.peak_bytes if moment.timeline else 0, 1))
    _curve(above, moment, series, key, unit, name)
    _layers(layers, moment, unit, name)
    _lives(lives, moment, unit, name)
    sheet.suptitle(report.verdict, fontsize=10, wrap=True)
    return sheet


def _unit(largest: int) -> tuple[int, str]:
    units = ((GIB, "GiB"), (MIB, "MiB"))
    return next((unit for unit in units if largest >= unit[0]), (KIB, "KiB"))


def _axis(timeline: Timeline) -> tuple[float, str]:
    """What a unit of the axis is, and its label."""
    return (
        (1.0, "lines of the log after the first allocation")
        if timeline.ordinal
        else (1000.0, "milliseconds after the first allocation")
    )


def _curve(axes: Any, moment: Moment, series: StackedSeries, key: str, unit: int, name: str) -> None:
    assert moment.timeline
    scale, label = _axis(moment.timeline)
    times = [micros / scale for micros in series.micros]
    groups = list(series.bytes_by_group)
    axes.stackplot(
        times,
        *[[size / unit for size in series.bytes_by_group[group]] for group in groups],
        labels=[shorten(group, 40) for group in groups],
        colors=_BLIND_SAFE[: len(groups)],
        step="mid",
    )
    origin = moment.timeline.events[0][0] if moment.timeline.curve else 0.0
    if moment.peak_micros is not None:
        here = (moment.peak_micros - origin) / scale
        total = moment.attribution.table.total_bytes / unit
        axes.plot([here], [total], "v", color="black", markersize=8)
        axes.annotate(
            f"{total:,.2f} {name}", (here, total), xytext=(6, 4), textcoords="offset points", fontsize=9
        )
    if moment.timeline.limit_bytes:
        axes.axhline(
            moment.timeline.limit_bytes / unit, color="black", linestyle="--", linewidth=1, label="limit"
        )
    for phase in moment.phases:
        axes.axvline((phase.start_micros - origin) / scale, color="black", linewidth=0.6, linestyle=":")
        axes.annotate(
            phase.name,
            ((phase.start_micros - origin) / scale, 0),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set(xlabel=label, ylabel=f"in use ({name})", title=f"What was in use, by {key}")
    axes.set_ylim(0, moment.timeline.peak_bytes / unit * 1.12)
    axes.margins(x=0)
    axes.legend(loc="upper right", fontsize=8, framealpha=0.9)


def _layers(axes: Any, moment: Moment, unit: int, name: str) -> None:
    groups = moment.attribution.by("layer")[:10][::-1]
    axes.barh(
        [shorten(group.name or "(no layer in the name)", 40) for group in groups],
        [group.total_bytes / unit for group in groups],
        color=_BLIND_SAFE[1],
    )
    axes.set(xlabel=name, title="The largest layers at that moment")
    axes.tick_params(axis="y", labelsize=8)


def _lives(axes: Any, moment: Moment, unit: int, name: str) -> None:
    assert moment.timeline
    times = moment.timeline.events[0]
    if not times:
        return
    origin, last = times[0], times[-1]
    scale, label = _axis(moment.timeline)
    table = moment.timeline.table
    rows = sorted(range(len(table)), key=lambda row: -table.size_bytes[row])[:10][::-1]
    for place, row in enumerate(rows):
        start, end = table.start_micros[row] or origin, table.end_micros[row]
        axes.barh(
            place,
            ((end if end is not None else last) - start) / scale,
            left=(start - origin) / scale,
            color=_BLIND_SAFE[2],
        )
    axes.set_yticks(
        range(len(rows)),
        [
            f"{shorten(table.node[row] or '?', 40)}  {table.size_bytes[row] / unit:,.2f} {name}"
            for row in rows
        ],
        fontsize=8,
    )
    axes.set(xlabel=label, title="Tensor lifetimes")
    axes.set_xlim(0, max((last - origin) / scale, 1e-3))
