"""The live curve split by kind or layer, at a resolution that a picture can show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tfmemlens.attribution.moments.timelines import owners_of
from tfmemlens.model.series import StackedSeries
from tfmemlens.model.timeline import Timeline

BASELINE, OTHERS = "before the step", "other"


def stacked(timeline: Timeline, key: str = "kind", columns: int = 600, top: int = 8) -> StackedSeries:
    """Each column shows the instant of its highest total, so that no peak is lost; what is not among the
    `top` groups is `other`.
    """
    times = timeline.events[0]
    if not times:
        return StackedSeries((), {BASELINE: ()})
    span = max(times[-1] - times[0], 1.0)
    states = _highest(timeline, _names(timeline, key), span, columns)
    largest: dict[str, int] = defaultdict(int)
    for state in states:
        for name, size in state.items():
            largest[name] = max(largest[name], size)
    shown = sorted(largest, key=lambda name: -largest[name])[:top]
    series: dict[str, Sequence[int]] = {
        BASELINE: [timeline.baseline_bytes] * columns,
        **{name: [state.get(name, 0) for state in states] for name in shown},
    }
    rest = [sum(size for name, size in state.items() if name not in shown) for state in states]
    if any(rest):
        series[OTHERS] = rest
    return StackedSeries([span * (index + 0.5) / columns for index in range(columns)], series)


def _names(timeline: Timeline, key: str) -> list[str]:
    """The group of each row."""
    if key == "kind":
        return [owner.kind.value for owner in owners_of(timeline)]
    return [str(getattr(owner, key) or "(no layer)") for owner in owners_of(timeline)]


def _highest(timeline: Timeline, names: list[str], span: float, columns: int) -> list[dict[str, int]]:
    """What each group held at the highest instant of each column; where nothing happened, what was held goes
    on.
    """
    times, changes, rows = timeline.events
    held: dict[str, int] = defaultdict(int)
    best: list[tuple[int, dict[str, int]]] = [(-1, {})] * columns
    total, column = 0, 0
    for time, change, row in zip(times, changes, rows, strict=True):
        here = min(int((time - times[0]) / span * columns), columns - 1)
        for between in range(column + 1, here + 1):
            if best[between][0] < total:
                best[between] = (total, dict(held))
        held[names[row]] += change
        total += change
        if total > best[here][0]:
            best[here] = (total, dict(held))
        column = here
    return [state for _, state in best]
