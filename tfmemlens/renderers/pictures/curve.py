"""A picture of a traced step with matplotlib: memory over time, stacked; the lifetimes of the largest tensors
on the same time axis; the largest layers at the peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmemlens.model.case import Moment
from tfmemlens.model.series import LiveCurve, Sheet
from tfmemlens.model.timeline import Timeline
from tfmemlens.renderers import palette
from tfmemlens.renderers.kinds import in_words
from tfmemlens.units import GIB, KIB, MIB, human

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ("curve", "lifetimes", "layers")
_HEIGHTS = {"curve": 3.6, "lifetimes": 2.6, "layers": 2.6}
"""Inches."""
_WIDTH = 10.0
_ROWS = 10
_NAME = 38
"""Letters of a name beside a bar."""
_NEAR = 0.08
"""Of the time axis: phases that begin nearer than this would stand over each other."""
_LEAST = 0.003
"""Of the largest layer: what a bar can show."""
_WORDS = 28
"""Points that two lines of words take."""
_FAR_LIMIT = 1.5
"""Times the peak: a limit beyond it would press the curve flat."""


def figure(curve: LiveCurve, asked: Sheet = Sheet()) -> Figure:
    """The panels that were asked for on one sheet; the moment that the report shows first is marked."""
    from tfmemlens.renderers.pictures._sheet import sheet

    panels = asked.panels or PANELS
    title = curve.report.verdict if asked.title is None else asked.title
    heights = [_HEIGHTS[panel] for panel in panels]
    page = sheet(asked.size or (_WIDTH, sum(heights) + 0.5), title)
    grid = page.subplots(len(panels), 1, height_ratios=heights, squeeze=False)
    axes = dict(zip(panels, grid[:, 0], strict=True))
    if "curve" in axes:
        draw_curve(axes["curve"], curve)
    if "lifetimes" in axes:
        _draw_lifetimes(axes["lifetimes"], curve)
    if "layers" in axes:
        _draw_layers(axes["layers"], _moment(curve))
    if "curve" in axes and "lifetimes" in axes:
        axes["lifetimes"].sharex(axes["curve"])
        axes[next(panel for panel in panels if panel != "layers")].set_xlabel("")
    return page


def draw_curve(axes: Axes, curve: LiveCurve) -> None:
    """Memory over time on axes that exist, its legend right of them."""
    from tfmemlens.renderers.pictures._sheet import distinct, legend_outside

    moment, series = _moment(curve), curve.series
    timeline = _timeline(moment)
    unit, name = _unit(timeline)
    scale, label = _time_axis(timeline)
    groups = list(series.bytes_by_group)
    axes.stackplot(
        [micros / scale for micros in series.micros],
        *[[size / unit for size in series.bytes_by_group[group]] for group in groups],
        labels=distinct(_shown(groups, curve.key), _NAME),
        colors=_colors(groups, curve.key),
        step="mid",
        linewidth=0,
    )
    limit, peak = timeline.limit_bytes, timeline.peak_bytes
    near = limit is not None and limit <= _FAR_LIMIT * peak
    if limit is not None and near:
        axes.axhline(limit / unit, color="black", linestyle="--", linewidth=1, label="limit")
    highest = max(limit if limit and near else 0, peak) / unit
    axes.set_ylim(0, highest * _headroom(axes) or 1)
    axes.set(xlabel=label, ylabel=f"in use ({name})", title=f"Memory in use, by {curve.key}")
    axes.margins(x=0)
    _mark(axes, moment, unit, name)
    _mark_phases(axes, moment)
    handles, labels = axes.get_legend_handles_labels()
    legend_outside(axes, handles=handles[::-1], labels=labels[::-1])  # as they lie upon each other


def _headroom(axes: Axes) -> float:
    """How far the axis goes beyond the highest value: the peak's figure and phases' names lie above."""
    points = axes.bbox.height * 72 / axes.figure.dpi
    return max(1.15, points / max(points - _WORDS, _WORDS))


def _moment(curve: LiveCurve) -> Moment:
    return next(moment for moment in curve.report.case.moments if moment.timeline)


def _timeline(moment: Moment) -> Timeline:
    assert moment.timeline
    return moment.timeline


def _unit(timeline: Timeline) -> tuple[int, str]:
    units = ((GIB, "GiB"), (MIB, "MiB"))
    return next((unit for unit in units if timeline.peak_bytes >= unit[0]), (KIB, "KiB"))


_PLACES = {
    "line": "lines of the log after the first allocation",
    "instruction": "instructions of the program after the first allocation",
}


def _time_axis(timeline: Timeline) -> tuple[float, str]:
    """What a unit of the axis is, and its label."""
    return (
        (1.0, _PLACES[timeline.place])
        if timeline.ordinal
        else (1000.0, "milliseconds after the first allocation")
    )


def _origin(timeline: Timeline) -> float:
    return timeline.events[0][0] if timeline.curve else 0.0


def _span(timeline: Timeline) -> float:
    """How long the axis is, in its units."""
    times, (scale, _) = timeline.events[0], _time_axis(timeline)
    return max((times[-1] - times[0]) / scale, 1e-3) if times else 1e-3


def _colors(groups: Sequence[str], key: str) -> list[str]:
    """Each kind in its colour; layers in others, what is neither in grey."""
    kinds = {kind.value: color for kind, color in palette.LIGHT.items()}
    if key == "kind":
        return [kinds.get(group, palette.OTHER) for group in groups]
    return [palette.OTHER, *(palette.LAYERS[place % len(palette.LAYERS)] for place in range(len(groups) - 1))]


def _shown(groups: Sequence[str], key: str) -> list[str]:
    """The kinds in words, as all other pages call them; what is no kind keeps its name."""
    words = {kind.value: in_words(kind) for kind in palette.LIGHT} if key == "kind" else {}
    return [words.get(group, group) for group in groups]


def _mark(axes: Axes, moment: Moment, unit: int, name: str) -> None:
    """The moment that the report shows: how much, and when."""
    timeline = _timeline(moment)
    if moment.peak_micros is None:
        return
    scale, _ = _time_axis(timeline)
    here = (moment.peak_micros - _origin(timeline)) / scale
    total = moment.attribution.table.total_bytes / unit
    right = here > 0.6 * _span(timeline)
    what = "" if moment.below_peak else "peak "
    axes.plot([here], [total], "v", color="black", markersize=6)
    axes.annotate(
        f"{what}{total:,.2f} {name}",
        (here, total),
        xytext=(-6 if right else 6, 4),
        textcoords="offset points",
        ha="right" if right else "left",
        fontsize=9,
    )


def _mark_phases(axes: Axes, moment: Moment) -> None:
    timeline = _timeline(moment)
    scale, _ = _time_axis(timeline)
    last = float("-inf")
    for phase in moment.phases:
        here = (phase.start_micros - _origin(timeline)) / scale
        if not 0 <= here <= _span(timeline):
            continue
        axes.axvline(here, color="black", linewidth=0.6, linestyle=":")
        late = here > (1 - _NEAR) * _span(timeline)
        if here - last >= _NEAR * _span(timeline):
            axes.annotate(
                phase.name,
                (here, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-3 if late else 3, -10),
                textcoords="offset points",
                ha="right" if late else "left",
                fontsize=8,
            )
            last = here


def _draw_lifetimes(axes: Axes, curve: LiveCurve) -> None:
    """When the largest tensors of the step were alive, each in the colour of its kind."""
    from tfmemlens.renderers.pictures._sheet import distinct

    timeline = _timeline(_moment(curve))
    times, (scale, label) = timeline.events[0], _time_axis(timeline)
    if not times:
        return
    origin, last, table = times[0], times[-1], timeline.table
    rows = sorted(range(len(table)), key=lambda row: -table.size_bytes[row])[:_ROWS][::-1]
    for place, row in enumerate(rows):
        start, end = table.start_micros[row], table.end_micros[row]
        start = origin if start is None else start
        axes.barh(
            place,
            ((last if end is None else end) - start) / scale,
            left=(start - origin) / scale,
            color=palette.LIGHT[curve.row_kinds[row]],
        )
    labels = distinct([table.node[row] or "no name" for row in rows], _NAME)
    sizes = [human(table.size_bytes[row]) for row in rows]
    told = [f"{text}  {size}" for text, size in zip(labels, sizes, strict=True)]
    axes.set_yticks(range(len(rows)), told, fontsize=8)
    axes.set(xlabel=label, title="Lifetimes of the largest tensors")
    axes.set_xlim(0, _span(timeline))


def _draw_layers(axes: Axes, moment: Moment) -> None:
    """What the largest layers hold, by kind."""
    from tfmemlens.renderers.pictures._sheet import distinct, legend_outside

    unit, name = _unit(_timeline(moment))
    largest = moment.attribution.by("layer")[:_ROWS]
    groups = [group for group in largest if group.total_bytes >= _LEAST * largest[0].total_bytes][::-1]
    lefts: list[float] = [0.0] * len(groups)
    held = [dict(group.kinds) for group in groups]
    for kind, color in palette.LIGHT.items():
        widths = [sizes.get(kind, 0) / unit for sizes in held]
        if any(widths):
            axes.barh(range(len(groups)), widths, left=lefts, color=color, label=in_words(kind))
            lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
    axes.set_yticks(
        range(len(groups)), distinct([group.name or "(no layer)" for group in groups], _NAME), fontsize=8
    )
    when = "that moment" if moment.below_peak else "the peak"
    axes.set_xlim(left=0)
    axes.set(xlabel=name, title=f"Largest layers at {when}")
    legend_outside(axes)
