"""The whole flow on one screen: bytes, readers, Capture, attribution, Case, findings, Report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from tfmemlens import attribution, findings, readers
from tfmemlens.errors import UnreadableInput
from tfmemlens.garbage import without_gc
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.case import Case
from tfmemlens.model.layout import LayoutTrial
from tfmemlens.model.line import ReadNote
from tfmemlens.model.report import Report
from tfmemlens.model.settings import StepSettings
from tfmemlens.readers.gathering import inputs
from tfmemlens.readers.gathering import traced_steps as traced

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from tfmemlens.model.difference import Difference
    from tfmemlens.model.network import Network
    from tfmemlens.model.page import Page
    from tfmemlens.model.step import TracedStep

Input = str | PathLike[str]


def explain(source: Input | Iterable[Input], hints: Hints = Hints()) -> Report:
    """Read a path, several, or a pasted text, and explain it."""
    return report(capture(source, hints))


def capture(source: Input | Iterable[Input], hints: Hints = Hints()) -> Capture:
    """What the readers find in a path, several paths, or a text that is no path; for a saved model, what a
    step of it would need.

    A directory stands for all that is in it, but of its traced steps only for the newest, or for the one that
    the hints choose.
    """
    chosen = inputs.resolve(source)
    if readers.describes_a_model(chosen):
        return estimate(chosen[0].path, StepSettings.of(hints))
    return traced.read(source, hints, logs=True)


def timelines(source: Input | Iterable[Input], hints: Hints = Hints(), device: str | None = None) -> Capture:
    """The traced steps of the sources, without failures; only devices whose name contains `device`."""
    if readers.describes_a_model(chosen := inputs.resolve(source)):
        raise UnreadableInput(
            f"{chosen[0].path} is a model, and no traced step",
            f"`tfmemlens estimate {chosen[0].path}` predicts a step of it",
        )
    found = traced.read(source, hints)
    kept = tuple(
        timeline
        for timeline in found.timelines
        if device is None or device.lower() in timeline.device.lower()
    )
    if found.timelines and not kept:
        names = ", ".join(
            dict.fromkeys(timeline.device or "one without a name" for timeline in found.timelines)
        )
        found = replace(
            found,
            notes=(ReadNote(f"no device's name contains {device!r}; the trace has {names}"), *found.notes),
        )
    return replace(found, timelines=kept, incidents=() if kept else found.incidents)


def estimate(
    model: Input | Network, settings: StepSettings = StepSettings(), python: str | None = None
) -> Capture:
    """A step of a model that never ran, as a capture: its timeline is predicted. `python` runs
    `module:function`, when the model is one.
    """
    from tfmemlens.estimation.keras_step import capture
    from tfmemlens.readers import keras_models

    network = keras_models.read(model, python) if isinstance(model, str | PathLike) else model
    return capture.capture(network, settings)


def estimate_graph(
    path: Input, settings: StepSettings = StepSettings(), fetches: Sequence[str] = (), recorded: bool = False
) -> Capture:
    """The same for a training graph in a file: its ops are thought through one by one."""
    from tfmemlens.estimation.graph_step import capture
    from tfmemlens.model.capture import Source
    from tfmemlens.readers.formats import graph_file

    return capture.capture(
        graph_file.read_graph(path),
        Source(str(path), ("graph-def",), "tensorflow"),
        settings,
        fetches,
        recorded,
    )


def steps(source: Input | Iterable[Input]) -> list[TracedStep]:
    """The traced steps of paths and log directories, oldest first."""
    return traced.find_all(source)


def of_run_metadata(message: object, graph: Input | None = None) -> Capture:
    """The capture of a RunMetadata object that is in memory already, TensorFlow's or ours, with the graph of
    a file.
    """
    from tfmemlens.readers.formats import graph_file, run_metadata
    from tfmemlens.readers.graphs import graph_join

    found = run_metadata.capture_of(message, "RunMetadata")
    return graph_join.join(found, graph_file.read_graph(graph)) if graph is not None else found


def plot(found: Capture, by: str = "kind", at: str | None = None) -> Figure:
    """The step with the highest peak as a matplotlib figure."""
    from tfmemlens.attribution.moments.stacked_curve import stacked
    from tfmemlens.renderers.export import plot as picture

    highest = replace(
        found, timelines=(max(found.timelines, key=lambda timeline: timeline.peak_bytes),), incidents=()
    )
    return picture.figure(report(highest, at), stacked(highest.timelines[0], by), by)


def export(found: Capture, form: str) -> str:
    """The capture in another viewer's format: `chrome-trace` or `speedscope`."""
    from tfmemlens.attribution.moments.stacked_curve import stacked
    from tfmemlens.renderers.export import chrome_trace, speedscope

    if form == "speedscope":
        return speedscope.render(report(found))
    ordered = replace(
        found, timelines=tuple(sorted(found.timelines, key=lambda timeline: -timeline.peak_bytes))
    )
    return chrome_trace.render(report(ordered), stacked(ordered.timelines[0]))


@without_gc
def page(groups: Iterable[Iterable[Input]], hints: Hints = Hints(), device: str | None = None) -> Page:
    """The HTML page's content: a tab for each group of inputs, and what changed from the first to each
    other.
    """
    from tfmemlens.attribution.moments.ledger import ledger_of
    from tfmemlens.model.page import Page, Tab

    found = [_seen(group, hints, device) for group in groups]
    reports = [report(each) for each in found]
    tabs = tuple(
        Tab(each, tuple(ledger_of(moment, hints, each.case.capture.graph) for moment in each.case.moments))
        for each in reports
    )
    fired = {finding.rule for each in reports for finding in each.findings}
    shown = [each.case for each in reports if each.case.moments]
    differences = tuple(compare(shown[0], other) for other in shown[1:])
    return Page(
        tabs,
        differences,
        {slug: rule.__doc__ or "" for slug, rule in findings.rules().items() if slug in fired},
    )


def _seen(group: Input | Iterable[Input], hints: Hints, device: str | None) -> Capture:
    return timelines(group, hints, device) if device else capture(group, hints)


def difference(
    before: Input | Iterable[Input],
    after: Input | Iterable[Input],
    hints: Hints = Hints(),
    device: str | None = None,
) -> Difference:
    """What changed from one input to another. Raises UnreadableInput when one of them has no memory
    figures.
    """
    cases = []
    for source in (before, after):
        found = _seen(source, hints, device)
        case = attribution.attribute(found)
        if not case.moments:
            raise UnreadableInput(f"{found.source.path} holds no memory figures to compare", found.reasons())
        cases.append(case)
    return compare(*cases)


def compare(before: Case, after: Case) -> Difference:
    """What changed from one case to another."""
    from tfmemlens.attribution import difference as stage

    return stage.difference(before, after)


def html(content: Page) -> str:
    """The page as one self-contained file."""
    from tfmemlens.renderers import html

    return html.render(content)


def allocations(found: Capture) -> pandas.DataFrame:
    """Every allocation of the timelines, with its layer, kind and phase, as a DataFrame: bytes, and
    microseconds of the trace's clock.
    """
    import pandas

    frames = [attribution.frame(timeline, found.graph) for timeline in found.timelines]
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def layout_report(
    found: Capture, trials: Iterable[tuple[str, str, Capture | None]] = (), keep: Iterable[str] = ()
) -> Report:
    """The layout pass's copies in a graph that has been through it, with the op that forces each.

    `trials` are (remedy, what was done, the graph it gave); without a graph the copies with only causes
    outside `keep` are taken to vanish.
    """
    case = attribution.attribute(replace(found, incidents=()))
    study = case.layout or attribution.without_copies(found)
    kept = frozenset(keep)
    tried = [
        LayoutTrial(
            slug,
            text,
            attribution.layout(graph) or attribution.without_copies(graph) if graph else study.left(kept),
        )
        for slug, text, graph in trials
    ]
    if study.unknown:
        advice = (
            f"the sizes of {study.unknown} copies are not known before the run: --batch or --input-shape"
            " tells them"
        )
        case = replace(case, capture=replace(case.capture, notes=(*case.capture.notes, ReadNote(advice))))
    return findings.examine(replace(case, moments=(), layout=study, trials=tuple(tried)))


def graph_capture(source: Input, hints: Hints = Hints()) -> Capture:
    """The capture of a file that holds a graph. Raises UnreadableInput."""
    from tfmemlens.readers.formats import graph_file

    found = capture(graph_file.saved_model_file(str(source)) or source, hints)
    if found.graph is None:
        raise UnreadableInput(
            f"{source} holds no graph", graph_file.HINT if found.timelines else found.reasons(graph_file.HINT)
        )
    return found


@without_gc
def report(found: Capture, at: str | None = None) -> Report:
    """The report on a capture, wherever it came from: a log, a trace, a prediction. `at` asks for another
    moment than the peak.
    """
    return findings.examine(attribution.attribute(found, at))
