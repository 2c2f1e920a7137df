"""The whole flow on one screen: read ▶ attribute ▶ examine. What a command asks for beyond it is a use case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike

from tfmemlens import attribution, findings, readers
from tfmemlens.errors import UnreadableInput
from tfmemlens.garbage import without_gc
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.line import ReadNote
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.gathering import inputs
from tfmemlens.readers.gathering import traced_steps as traced

Input = str | PathLike[str]


def explain(source: Input | Iterable[Input], hints: Hints = Hints()) -> Report:
    """Read a path, several, or a pasted text, and explain it."""
    return report(capture(source, hints))


def capture(source: Input | Iterable[Input], hints: Hints = Hints(), device: str | None = None) -> Capture:
    """What the readers find in a path, several paths, or a text that is no path; for a saved model, what a
    step of it would need. With a `device` only the traced steps on it.

    A directory stands for all that is in it, but of its traced steps only for the newest, or for the one that
    the hints choose.
    """
    if device:
        return timelines(source, hints, device)
    chosen = inputs.resolve(source)
    if readers.describes_a_model(chosen):
        return _predicted(chosen[0].path, hints)
    return traced.read(source, hints, logs=True)


def _predicted(path: str, hints: Hints) -> Capture:
    """Nothing was measured, so the step is predicted from the model's description."""
    from tfmemlens.estimation.keras_step import capture
    from tfmemlens.readers import keras_models

    return capture.capture(keras_models.read(path), StepSettings.of(hints))


def timelines(source: Input | Iterable[Input], hints: Hints = Hints(), device: str | None = None) -> Capture:
    """The traced steps of the sources, without failures; only devices whose name contains `device`."""
    if readers.describes_a_model(chosen := inputs.resolve(source)):
        raise UnreadableInput(
            f"{chosen[0].path} is a model, and no traced step",
            f"`tfmemlens estimate {chosen[0].path}` predicts a step of it",
        )
    capture = traced.read(source, hints)
    kept = tuple(
        timeline
        for timeline in capture.timelines
        if device is None or device.lower() in timeline.device.lower()
    )
    if capture.timelines and not kept:
        devices = dict.fromkeys(timeline.device or "one without a name" for timeline in capture.timelines)
        note = ReadNote(f"no device's name contains {device!r}; the trace has {', '.join(devices)}")
        capture = replace(capture, notes=(note, *capture.notes))
    return replace(capture, timelines=kept, incidents=() if kept else capture.incidents)


@without_gc
def report(capture: Capture, at: str | None = None) -> Report:
    """The report on a capture, wherever it came from: a log, a trace, a prediction. `at` asks for another
    moment than the peak.
    """
    return findings.examine(attribution.attribute(capture, at))
