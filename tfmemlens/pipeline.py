"""The whole flow on one screen: bytes, readers, Capture, attribution, Case, findings, Report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from tfmemlens import attribution, findings, readers
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.network import Network
from tfmemlens.model.report import Report
from tfmemlens.model.settings import Settings
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers import inputs

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Input = str | PathLike[str]


def explain(source: Input | Iterable[Input], hints: Hints = Hints()) -> Report:
    """Read a path, several, or a pasted text, and explain it."""
    return report(capture(source, hints))


def capture(source: Input | Iterable[Input], hints: Hints = Hints()) -> Capture:
    """What the readers find in a path, several paths, or a text that is no path."""
    return readers.read(inputs.resolve(source), hints)


def timelines(source: Input | Iterable[Input], hints: Hints = Hints(), device: str | None = None) -> Capture:
    """The traced steps of the sources, without failures; only devices whose name contains `device`."""
    found = capture(source, hints)
    kept = tuple(timeline for timeline in found.timelines if device is None or device.lower() in timeline.device.lower())
    return replace(found, timelines=kept, incidents=() if kept else found.incidents)


def estimate(model: Input | Network, settings: Settings = Settings(), python: str | None = None) -> Capture:
    """A step of a model that never ran, as a capture: its timeline is predicted. `python` runs `module:function`, when the model is one."""
    from tfmemlens.estimation import models
    from tfmemlens.readers import networks

    network = model if isinstance(model, Network) else networks.read(model, python)
    return models.capture(network, settings)


def of_run_metadata(message: object) -> Capture:
    """The capture of a RunMetadata object that is in memory already, TensorFlow's or ours."""
    from tfmemlens.readers import run_metadata

    return run_metadata.capture_of(message, "RunMetadata")


def plot(found: Capture, by: str = "kind", at: str | None = None) -> Figure:
    """The step with the highest peak as a matplotlib figure."""
    from tfmemlens.attribution.series import stacked
    from tfmemlens.renderers import plot as picture

    highest = replace(found, timelines=(max(found.timelines, key=lambda timeline: timeline.peak_bytes),), incidents=())
    return picture.figure(report(highest, at), stacked(highest.timelines[0], by), by)


def export(found: Capture, form: str) -> str:
    """The capture in another viewer's format: `chrome-trace` or `speedscope`."""
    from tfmemlens.attribution.series import stacked
    from tfmemlens.renderers import chrome_trace, speedscope

    if form == "speedscope":
        return speedscope.render(report(found))
    ordered = replace(found, timelines=tuple(sorted(found.timelines, key=lambda timeline: -timeline.peak_bytes)))
    return chrome_trace.render(report(ordered), stacked(ordered.timelines[0]))


def allocations(found: Iterable[Timeline]) -> pandas.DataFrame:
    """Every allocation of these timelines, with its layer, kind and phase, as a DataFrame: bytes, and microseconds of the trace's clock."""
    import pandas

    frames = [attribution.frame(timeline) for timeline in found]
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def report(found: Capture, at: str | None = None) -> Report:
    """The report on a capture, wherever it came from: a log, a trace, a prediction. `at` asks for another moment than the peak."""
    return findings.examine(attribution.attribute(found, at))
