"""The live curve split by kind or layer, at a resolution that a picture can show."""

from __future__ import annotations

from collections import defaultdict

from tfmemlens.attribution.timelines import owners_of
from tfmemlens.model.series import StackedSeries
from tfmemlens.model.timeline import Timeline

BASELINE, OTHERS = "before the step", "other"


def stacked(timeline: Timeline, key: str = "kind", columns: int = 600, top: int = 8) -> StackedSeries:
    """Each column shows the instant of its highest total, so that no peak is lost; what is not among the `top` groups is `other`."""
    times, changes, rows = timeline.events
    if not times:
        return StackedSeries((), {BASELINE: ()})
    names = [str(getattr(owner, key) or "(no layer)") if key != "kind" else owner.kind.value for owner in owners_of(timeline)]
    origin, span = times[0], max(times[-1] - times[0], 1.0)
    held: dict[str, int] = defaultdict(int)
    best: list[tuple[int, dict[str, int]]] = [(-1, {})] * columns
    total, column = 0, 0
    for time, change, row in zip(times, changes, rows, strict=True):
        here = min(int((time - origin) / span * columns), columns - 1)
        for between in range(column, here):  # nothing happened: what was held goes on
            if best[between + 1][0] < total:
                best[between + 1] = (total, dict(held))
        held[names[row]] += change
        total += change
        if total > best[here][0]:
            best[here] = (total, dict(held))
        column = here
    largest: dict[str, int] = defaultdict(int)
    for _, state in best:
        for name, size in state.items():
            largest[name] = max(largest[name], size)
    shown = sorted(largest, key=lambda name: -largest[name])[:top]
    series: dict[str, list[int]] = {BASELINE: [timeline.baseline_bytes] * columns}
    for name in shown:
        series[name] = [state.get(name, 0) for _, state in best]
    rest = [sum(size for name, size in state.items() if name not in shown) for _, state in best]
    if any(rest):
        series[OTHERS] = rest
    return StackedSeries([span * (index + 0.5) / columns for index in range(columns)], dict(series))
