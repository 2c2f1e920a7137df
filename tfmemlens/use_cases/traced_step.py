"""Traced steps outside a report: which there are, one that is in memory already, and its allocations as a
table.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tfmemlens import attribution, pipeline
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.finding import Action, Remedy
from tfmemlens.model.line import ReadNote
from tfmemlens.pipeline import Input
from tfmemlens.readers.gathering import traced_steps
from tfmemlens.units import MIB
from tfmemlens.use_cases.run import RECORD
from tfmemlens.values import replace

if TYPE_CHECKING:
    import pandas

    from tfmemlens.model.report import Report
    from tfmemlens.model.step import TracedStep
    from tfmemlens.model.timeline import Timeline

_LARGEST_RECORD = MIB


def in_program_order(capture: Capture) -> Capture:
    """A compiled program's values as a step, in the order of its instructions, where nothing was traced; else
    the capture as it is.
    """
    schedules = tuple(
        incident.compiler.schedule
        for incident in capture.incidents
        if incident.compiler and incident.compiler.schedule
    )
    if capture.timelines or not schedules:
        return capture
    return replace(capture, timelines=schedules, incidents=())


def with_its_failure(capture: Capture, source: Input | Iterable[Input], hints: Hints = Hints()) -> Capture:
    """A failed run of which no step was traced, with all that its folder holds, so that it reads as `explain`
    has it; else the capture as it is.
    """
    if capture.timelines or not capture.incidents or capture.live_model is None:
        return capture
    whole = pipeline.capture(source, hints)
    return replace(whole, notes=(ReadNote("no step was traced: this is the failure itself"), *whole.notes))


def of_a_failed_run(report: Report, sources: Sequence[str], hints: Hints = Hints()) -> Report:
    """The report on a step of a run that failed for memory: what this step holds is not what the failure was
    about, so nothing is advised but to read that.
    """
    captured = report.case.capture
    if not captured.timelines or not (captured.living or _failed_for_memory(sources, hints)):
        return report
    look = Remedy(
        "this run failed for memory, and a step alone does not tell what held it: read the failure first,"
        f" `tfmemlens explain {shlex.join(sources)}`",
        slug="explain-the-failure",
    )
    return replace(report, actions=(Action(look, ()),))


def _failed_for_memory(sources: Sequence[str], hints: Hints) -> bool:
    """Whether a folder among them is the bundle of a run that ended so."""
    ended = [each for each in sources if os.path.isdir(each) and _ended_badly(each)]
    return any(pipeline.capture(each, hints).incidents for each in ended)


def _ended_badly(bundle: str) -> bool:
    """Whether a bundle's program ended with another status than 0; False where no record tells."""
    try:
        with open(os.path.join(bundle, RECORD), "rb") as file:
            record = json.loads(file.read(_LARGEST_RECORD))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("exit_status") not in (0, None)


def list_steps(source: Input | Iterable[Input]) -> list[TracedStep]:
    """The traced steps of paths and log directories, oldest first."""
    return traced_steps.find_all(source)


def of_run_metadata(message: object, graph: Input | None = None) -> Capture:
    """The capture of a RunMetadata object that is in memory already, TensorFlow's or ours, with the graph of
    a file.
    """
    from tfmemlens.readers.formats import graph_file, run_metadata
    from tfmemlens.readers.graphs import graph_join

    capture = run_metadata.capture_of(message, "RunMetadata")
    return graph_join.join(capture, graph_file.read_graph(graph)) if graph is not None else capture


def curve(capture: Capture, timeline: Timeline) -> pandas.DataFrame:
    """The live curve of one of the capture's timelines by kind, as `attribution.curve` says; `allocation` is
    the row of `allocations`.
    """
    frame = attribution.curve(timeline, capture.graph, capture.live_model)
    place = next(index for index, each in enumerate(capture.timelines) if each is timeline)
    frame["allocation"] += sum(len(each.table) for each in capture.timelines[:place])
    return frame


def allocations(capture: Capture) -> pandas.DataFrame:
    """Every allocation of the timelines, with its layer, kind and phase, as a DataFrame: bytes, and
    microseconds of the trace's clock.
    """
    import pandas

    frames = [
        attribution.frame(timeline, capture.graph, capture.live_model) for timeline in capture.timelines
    ]
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()
