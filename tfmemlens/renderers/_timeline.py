"""The time axis in a terminal: a curve of what was in use, the phases below it, and the model's layers."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from tfmemlens.model.case import Case, Moment
from tfmemlens.model.tensor import format_shape, tensor_bytes
from tfmemlens.renderers._layout import columns, shorten
from tfmemlens.renderers._view import View
from tfmemlens.units import human

_WORTH = {"exact": "", "lower bound": "at least ", "estimate": "about "}
_STEPS = " ▁▂▃▄▅▆▇█"


def curve(moment: Moment, view: View) -> list[str]:
    """The curve in one row, its peak marked, the phases under it."""
    timeline = moment.timeline
    if timeline is None or not timeline.curve:
        return []
    times, values = timeline.events[0], timeline.curve
    start, end = times[0], times[-1]
    width = view.width - 4
    span = max(end - start, 1)
    edges = [bisect_left(times, start + span * column / width) for column in range(width)] + [len(times)]
    before = [timeline.baseline_bytes, *values]
    highest = [max(before[first : last + 1]) for first, last in pairwise(edges)]
    top = max(max(highest), 1)
    drawn = "".join(_STEPS[-(-8 * value // top)] for value in highest)
    marked = moment.peak_micros if moment.peak_micros is not None else start
    at = min(int((marked - start) / span * width), width - 1)
    when = f"at line {marked:,.0f} of {end:,.0f}" if timeline.ordinal else f"at {millis(marked - start)} of {millis(end - start)}"
    if timeline.predicted:
        when = "(the order of ops, not their times)"
    bound = "" if timeline.predicted else _WORTH[timeline.precision]
    legend = f"{human(timeline.before_bytes)} before the step, peak {bound}{human(timeline.peak_bytes)} {when}"
    return [f"  {drawn}", f"  {' ' * at}▲", f"  {legend}", *_phases(moment, start, span, width)]


def _phases(moment: Moment, start: float, span: float, width: int) -> list[str]:
    line = [" "] * width
    for phase in moment.phases:
        first = min(max(int((phase.start_micros - start) / span * width), 0), width - 1)
        last = min(max(int((phase.end_micros - start) / span * width), first), width - 1)
        text = phase.name[: last - first + 1].ljust(last - first + 1, "─")
        line[first : last + 1] = text
    return [f"  {''.join(line).rstrip()}"] if moment.phases else []


def millis(micros: float) -> str:
    """A duration in milliseconds."""
    return f"{micros / 1000:,.1f} ms" if micros < 1e6 else f"{micros / 1e6:,.2f} s"


def lifetime(start: float | None, end: float | None, origin: float, ordinal: bool = False) -> str:
    """When a tensor was born and died, from the step's first allocation on; in a log without a clock, between which lines."""
    if start is None:
        return ""
    if ordinal:
        return f", from line {start:,.0f} to {f'line {end:,.0f}' if end is not None else 'the end'}"
    return f", from {millis(start - origin)} to {millis(end - origin) if end is not None else 'the end'}"


def model(case: Case, view: View) -> list[str]:
    """Layer by layer: parameters with the formula behind them, weight and slot bytes, the largest output."""
    if not case.layers:
        return []
    rows = []
    for layer in case.layers[: max(view.top, 8)]:
        output = layer.outputs[0] if layer.outputs else None
        size = tensor_bytes(output.shape, output.dtype) if output else None
        rows.append(
            (
                shorten(layer.layer, 26),
                f"{layer.parameters:,}" if layer.parameters else "-",
                f"= {shorten(layer.formula, 20)}" if layer.formula else "",
                human(layer.parameter_bytes) if layer.parameter_bytes else "",
                human(layer.slot_bytes) if layer.slot_bytes else "",
                f"{format_shape(output.shape)} {human(size)}" if output and size is not None else "",
            )
        )
    head = ("layer", "parameters", "", "weights", "slots", "largest output")
    lines = [line[: view.width] for line in columns([head, *rows], frozenset({1, 3, 4}))]
    rest = len(case.layers) - len(rows)
    return lines + ([f"  … {rest} more layers"] if rest > 0 else [])
