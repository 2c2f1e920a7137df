"""The whole flow on one screen: read ▶ attribute ▶ examine. What a command asks for beyond it is a use
case.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from tfmemlens import attribution, findings
from tfmemlens.errors import UnreadableInput
from tfmemlens.garbage import without_gc
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.case import Case
from tfmemlens.model.line import ReadNote
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.gathering import inputs, opening, program_files, step_choice
from tfmemlens.values import replace
from tfmemlens.what_if import case as what_if

if TYPE_CHECKING:
    from tfmemlens.model.live_model import LiveModel
    from tfmemlens.model.network import Network
    from tfmemlens.model.timeline import Timeline

Input = str | PathLike[str]

_LEAST_FOUND = 0.3
"""Of a model's layers at least so many stand in a trace of it: some allocate nothing."""

limited = opening.limited
"""Within it, so many bytes of an archive or a stream are read."""


def explain(source: Input | Iterable[Input], hints: Hints = Hints()) -> Report:
    """Read a path, several, or a pasted text, and explain it."""
    return report(capture(source, hints))


def capture(source: Input | Iterable[Input], hints: Hints = Hints(), device: str | None = None) -> Capture:
    """What the readers find in a path, several paths, or a text that is no path; for a saved model, what a
    step of it would need. With a `device` only the traced steps on it.

    A directory stands for all that is in it, but of its traced steps only for the newest, or for the one that
    the hints choose. A program that a traceback names is read with its log where its file is still the same.
    """
    if device:
        return timelines(source, hints, device)
    places = inputs.places(source)
    read = program_files.with_programs(step_choice.read(places, hints, logs=True), places)
    return with_names(read, hints.model) if read.network is None else _predicted(read.network, hints)


def _predicted(network: Network, hints: Hints) -> Capture:
    """Nothing was measured, so the step is predicted from the model's description."""
    from tfmemlens.estimation.keras_step import capture
    from tfmemlens.estimation.possible_step import check_is_possible

    settings = StepSettings.of(hints)
    check_is_possible(settings)
    return capture.capture(network, settings)


def with_names(capture: Capture, model: Input | None) -> Capture:
    """The same with the names that a model's file has for layers and variables. Raises UnreadableInput."""
    if model is None:
        return capture
    from tfmemlens.attribution.names.live_names import LiveNames
    from tfmemlens.estimation.keras_step.live_model import live_model
    from tfmemlens.readers import keras_models

    live = live_model(keras_models.read(model))
    notes = capture.notes
    names = LiveNames(live)
    if capture.timelines:
        paths = {path for path, _ in live.layers}
        found = paths & {path for each in capture.timelines for path in names.found_in(each.table)}
        if len(found) < _LEAST_FOUND * len(paths):
            of_all = f"{len(found) or 'none'} of the {len(paths)} layers of the model given with --model"
            stand = "stands" if len(found) < 2 else "stand"
            notes = (ReadNote(f"{of_all} {stand} in this trace: it may not be the one that ran"), *notes)
    return replace(capture, live_model=live, notes=notes)


@without_gc
def timelines(source: Input | Iterable[Input], hints: Hints = Hints(), device: str | None = None) -> Capture:
    """The traced steps of the sources, without failures; only devices whose name contains `device`."""
    capture = with_names(step_choice.read(source, hints), hints.model)
    if capture.network is not None:
        raise UnreadableInput(
            f"{capture.source.path} is a model, not a trace",
            f"`tfmemlens estimate {capture.source.path}` predicts a step of it",
        )
    kept = tuple(
        timeline
        for timeline in capture.timelines
        if device is None or device.lower() in timeline.device.lower()
    )
    if capture.timelines and not kept:
        devices = dict.fromkeys(timeline.device or "one without a name" for timeline in capture.timelines)
        note = ReadNote(f"no device's name contains {device!r}; the trace has {', '.join(devices)}")
        capture = replace(capture, notes=(note, *capture.notes))
    if kept and capture.live_model is not None and capture.live_model.failed_step:
        note = ReadNote("this step failed for memory: its peak is what it held until then")
        capture = replace(capture, notes=(note, *capture.notes))
    return replace(capture, timelines=kept, incidents=() if kept else capture.incidents)


@without_gc
def report(capture: Capture, at: str | None = None) -> Report:
    """The report on a capture, wherever it came from: a log, a trace, a prediction. `at` asks for another
    moment than the peak.
    """
    return findings.examine(case(capture, at))


@without_gc
def case(capture: Capture, at: str | None = None) -> Case:
    """Who held it, and no rule asked: enough for those who only group the rows of a moment."""
    return what_if.attach(
        attribution.attribute(capture, at, _failed_run(capture)),
        capture,
        lambda: recorded_network(capture.live_model),
    )


def _failed_run(capture: Capture) -> tuple[Timeline, ...]:
    """The run of a session that failed before any was traced, predicted from its graph; nothing where the
    program did not leave it, or where it cannot be followed.
    """
    live, graph = capture.live_model, capture.graph
    if live is None or graph is None or not live.fetches or not capture.incidents:
        return ()
    from tfmemlens.estimation.graph_step.failed_run import failed_run

    return failed_run(graph, live, capture.incidents[0].request)


def recorded_network(live: LiveModel | None) -> Network | None:
    """The program's model as it described itself when it failed; None where it did not, or unreadably."""
    if live is None or live.description is None:
        return None
    from tfmemlens.readers import keras_models

    try:
        network = keras_models.of_text(live.description, "the recorded model")
    except UnreadableInput:
        return None
    return replace(network, optimizer=network.optimizer or live.optimizer)
