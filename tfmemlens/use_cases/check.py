"""Budgets of a step that was traced or is predicted: its peak, its layers, its growth over an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from tfmemlens import pipeline
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.model.budget import Budget
from tfmemlens.model.capture import Hints
from tfmemlens.model.case import Fits, Moment
from tfmemlens.model.report import Report
from tfmemlens.units import human

__all__ = ["Fits", "LayerLimit", "budgets", "measured"]
LayerLimit = tuple[str, int]
"""A pattern of layers' names (`encoder/*`), and the bytes that all of them together may hold at the peak."""


def measured(source: str, hints: Hints = Hints()) -> Report:
    """The step of a trace, a bundle or a model. Raises UnreadableInput where there is none."""
    capture = pipeline.capture(source, hints)
    if not capture.timelines:
        reason = "a failure, and no step" if capture.incidents else "no step with memory figures"
        raise UnreadableInput(
            f"{source} holds {reason}", capture.reasons("name a trace, a bundle of run --trace, or a model")
        )
    return pipeline.report(capture)


def budgets(
    report: Report,
    max_peak: int | None = None,
    max_layers: Sequence[LayerLimit] = (),
    baseline: tuple[str, Report] | None = None,
    max_growth: float = 0.0,
) -> list[Budget]:
    """Each budget with what the step needs; `max_growth` is a share, 0.03 for 3 %. Raises UsageError for a
    pattern that no layer has.
    """
    moment = _peak(report)
    checks = []
    low, high, failed = _needed(report, moment)
    if max_peak is not None:
        checks.append(Budget("peak", max_peak, low, high, failed))
    checks += [_layer(report, moment, *limit) for limit in max_layers]
    if baseline is not None:
        name, before = baseline
        was = _total(_peak(before))
        allowed = int(was * (1 + max_growth))
        note = "; ".join(filter(None, (f"{name} needs {human(was)}", failed)))
        checks.append(Budget(f"growth over {name}", allowed, low, high, note))
    return checks


def conditions(report: Report) -> Iterator[str]:
    """Of a prediction for which step it is: a batch that nobody stated is a default."""
    for note in report.case.capture.notes:
        if note.text.startswith("predicted from"):
            yield note.text


def _needed(report: Report, moment: Moment) -> tuple[int, int | None, str]:
    """Between which bytes lies what the program needs. Of a run that failed for memory no traced step tells
    how much: it needs at least what was held with what was asked for.
    """
    low, high = _bar(moment, _total(moment))
    failures = [each for each in report.case.moments if each.timeline is None and each.incident is not None]
    if not failures:
        return low, high, ""
    for each in failures:
        asked = each.request.needed_bytes if each.request else None
        if each.balance.in_use is not None:
            low = max(low, each.balance.in_use.low + (asked or 0))
    return low, None, "the run failed for memory: no step that ran needs as much"


def _peak(report: Report) -> Moment:
    """The largest peak of a step."""
    return max((each for each in report.case.moments if each.timeline is not None), key=_total)


def _total(moment: Moment) -> int:
    return moment.attribution.table.total_bytes


def _bar(moment: Moment, size: int) -> tuple[int, int | None]:
    """Between which bytes the truth lies: a prediction has its bar, a lower bound no upper end."""
    timeline = moment.timeline
    if timeline is None or not timeline.predicted:
        return size, None if timeline is not None and timeline.precision == "lower bound" else size
    if moment.error_bar is None:
        return 0, None
    low, high = moment.error_bar
    total = max(_total(moment), 1)
    return size * low // total, -(-size * high // total)


def _layer(report: Report, moment: Moment, pattern: str, allowed: int) -> Budget:
    sizes = {group.name: group.total_bytes for group in moment.attribution.by("layer") if group.name}
    matching = [name for name in sizes if _matches(name, pattern)]
    if not matching and not any(_matches(name, pattern) for name in _layers(report)):
        known = ", ".join(list(dict.fromkeys([*sizes, *_layers(report)]))[:8])
        raise UsageError(f"no layer is called {pattern!r}", f"it has {known or 'no layers with names'}")
    held = sum(sizes[name] for name in matching)
    note = ", ".join(f"{name} {human(sizes[name])}" for name in matching[:4])
    return Budget(f"layer {pattern}", allowed, *_bar(moment, held), note)


def _matches(name: str, pattern: str) -> bool:
    """`encoder/*` is also the layer `encoder` itself."""
    return fnmatchcase(name, pattern) or (pattern.endswith("/*") and name == pattern[:-2])


def _layers(report: Report) -> Iterator[str]:
    yield from (layer.layer for layer in report.case.layers)
