"""The time axis in a terminal: a curve of what was in use, the phases below it, and the model's layers."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from tfmemlens.model.case import Case, Moment
from tfmemlens.model.layers import LayerSummary, LayerTotals
from tfmemlens.model.tensor import format_shape, tensor_bytes
from tfmemlens.renderers.terminal._blocks import columns, display_width, narrowed, paragraph
from tfmemlens.renderers.view import View
from tfmemlens.units import human

_PRECISION_WORDS = {"exact": "", "lower bound": "at least ", "estimate": "about "}
_SLOTS = 4
_LEFT_OUT = (_SLOTS, 2, 3)
"""What the model's table leaves out first where it is too wide: slots, formulas, weights."""
_STEPS = " ▁▂▃▄▅▆▇█"


def title(moment: Moment) -> str:
    """What the curve's section is called."""
    return "in program order" if moment.schedule else "over time"


def curve(moment: Moment, view: View) -> list[str]:
    """The curve in one row, its peak marked, the phases under it."""
    timeline = moment.axis
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
    marked = moment.peak_micros if moment.peak_micros is not None else timeline.peak_micros or start
    at = min(int((marked - start) / span * width), width - 1)
    return [
        f"  {drawn}",
        f"  {' ' * at}▲{_here(moment, marked - start)}".rstrip(),
        *paragraph(legend(moment), view.width, "  "),
        *_phases(moment, start, span, width),
    ]


def legend(moment: Moment) -> str:
    """What stood before the step, its peak, and when that was; empty without a curve."""
    timeline = moment.axis
    if timeline is None or not timeline.curve:
        return ""
    times = timeline.events[0]
    start, end = times[0], times[-1]
    marked = moment.peak_micros if moment.peak_micros is not None else timeline.peak_micros or start
    peak = times[timeline.peak_index] if moment.below_peak else marked
    when = (
        f"at {timeline.place} {peak:,.0f} of {max(end, len(timeline.executions.node) - 1):,.0f}"
        if timeline.ordinal
        else f"at {millis(peak - start)} of {millis(end - start)}"
    )
    if timeline.predicted:
        when = "(the order of ops, not their times)"
    bound = "" if timeline.predicted else _PRECISION_WORDS[timeline.precision]
    stood = "throughout" if moment.schedule else "before the step"
    return f"{human(timeline.before_bytes)} {stood}, peak {bound}{human(timeline.peak_bytes)} {when}"


def _here(moment: Moment, since: float) -> str:
    """What the mark shows where it is not the peak."""
    if not moment.below_peak or moment.timeline is None:
        return ""
    held = human(moment.attribution.table.total_bytes)
    return f" {held}" if moment.timeline.ordinal else f" {held} at {millis(since)}"


def _phases(moment: Moment, start: float, span: float, width: int) -> list[str]:
    """Each phase's name and a line to where the next begins; two columns are too few for a name."""
    line = [" "] * width
    for phase in moment.phases:
        first, end = (
            min(max(int((micros - start) / span * width), 0), width)
            for micros in (phase.start_micros, phase.end_micros)
        )
        first = min(first, width - 1)
        room = max((width if end == width - 1 else end) - first, 1)
        line[first : first + room] = (phase.name[: room - 1] if room > 2 else "").ljust(room, "─")
    return [f"  {''.join(line).rstrip()}"] if moment.phases else []


def millis(micros: float) -> str:
    """A duration in milliseconds."""
    return f"{micros / 1000:,.1f} ms" if micros < 1e6 else f"{micros / 1e6:,.2f} s"


def lifetime(start: float | None, end: float | None, origin: float, ordinal: bool) -> str:
    """When a tensor was born and died, from the step's first allocation on; in a log without a clock, between
    which lines.
    """
    if start is None:
        return ""
    if ordinal:
        last = f"line {end:,.0f}" if end is not None else "the end"
        return f", from line {start:,.0f} to {last}"
    return f", from {millis(start - origin)} to {millis(end - origin) if end is not None else 'the end'}"


def model(case: Case, view: View) -> list[str]:
    """Layer by layer: parameters with the formula behind them, weight and slot bytes, the largest output; of
    many layers those that matter most.
    """
    if not case.layers:
        return []
    chosen = sorted(case.layers, key=lambda layer: (-layer.parameters, -_largest_output(layer)))[
        : max(view.top, 8)
    ]
    layers = [layer for layer in case.layers if layer in chosen]
    head = ("layer", "parameters", "", "weights", "slots", "largest output")
    table = [head, *map(_row, layers)]
    used = [
        at for at, name in enumerate(head) if any(row[at].strip("-") for row in table[1:]) or name == "layer"
    ]
    lines = _fitting(table, used, view.width)
    for column in _LEFT_OUT:
        if max(map(display_width, lines)) <= view.width:
            break
        used = [at for at in used if at != column]
        lines = _fitting(table, used, view.width)
    return lines + _rest(case, layers)


def _fitting(table: list[tuple[str, ...]], used: list[int], width: int) -> list[str]:
    """These columns, with names and formulas shortened as far as the width asks."""
    rows = [[row[at] for at in used] for row in table]
    least = {used.index(at): 14 for at in (0, 2) if at in used}
    return columns(
        narrowed(rows, width - 2, least), frozenset(used.index(at) for at in (1, 3, _SLOTS) if at in used)
    )


def _row(layer: LayerSummary) -> tuple[str, ...]:
    output = layer.outputs[0] if layer.outputs else None
    return (
        layer.layer,
        f"{layer.parameters:,}" if layer.parameters else "-",
        f"= {layer.formula}" if layer.formula else "",
        human(layer.parameter_bytes) if layer.parameter_bytes else "",
        human(layer.slot_bytes) if layer.slot_bytes else "",
        (
            f"{format_shape(output.shape)} {human(size)}"
            if output and (size := tensor_bytes(output.shape, output.dtype)) is not None
            else ""
        ),
    )


def _largest_output(layer: LayerSummary) -> int:
    return max((tensor_bytes(output.shape, output.dtype) or 0 for output in layer.outputs), default=0)


def _rest(case: Case, shown: list[LayerSummary]) -> list[str]:
    rest = len(case.layers) - len(shown)
    parameters = LayerTotals.of(case.layers).parameters
    told = [f"… {rest} more layer{'s' if rest > 1 else ''}"] if rest else []
    told += [f"{parameters:,} parameters in all"] if parameters else []
    return [f"  {'; '.join(told)}"] if told else []
