"""The layout pass's copies in a graph, with the op that forces each, and what is left of them after an
edit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tfmemlens import attribution, findings, pipeline
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.knowledge.ops.type_inference import Types, infer, type_of
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.graph import Graph
from tfmemlens.model.layout import LayoutStudy, LayoutTrial
from tfmemlens.model.line import ReadNote
from tfmemlens.model.report import Report
from tfmemlens.pipeline import Input
from tfmemlens.readers.formats import graph_file
from tfmemlens.recording import grappler
from tfmemlens.units import human
from tfmemlens.values import replace

_Trial = tuple[str, str, "Capture | None"]


def graph_capture(source: Input, hints: Hints = Hints()) -> Capture:
    """The capture of a file that holds a graph. Raises UnreadableInput."""
    capture = pipeline.capture(graph_file.saved_model_file(str(source)) or source, hints)
    if capture.graph is None:
        hint = graph_file.HINT if capture.timelines else capture.reasons(graph_file.HINT)
        raise UnreadableInput(f"{source} holds no graph", hint)
    return capture


def examine_graph(source: str, options: grappler.LayoutPassOptions, hints: Hints = Hints()) -> Report:
    """The copies in a graph that holds the pass's nodes; on another the pass is run first. Raises a
    TfmemlensError.
    """
    grappler.capability(options.gpu)
    capture = graph_capture(source, hints)
    report = layout_report(capture)
    layout = report.case.layout
    if not layout or not (layout.copies or layout.helpers):
        if capture.timelines and Path(source).is_dir():
            return report  # a recorded run: its graphs are those that ran
        return study_with_tensorflow(source, options, hints)
    if options.tries:
        raise UsageError(
            "--try edits a graph before the pass, and this one has been through it",
            "give the graph as your script builds it: --print-exporter",
        )
    return report


def layout_report(capture: Capture, trials: Iterable[_Trial] = (), keep: Iterable[str] = ()) -> Report:
    """The layout pass's copies in a graph that has been through it, with the op that forces each.

    `trials` are (remedy, what was done, the graph it gave); without a graph the copies with only causes
    outside `keep` are taken to vanish.
    """
    case = attribution.attribute(replace(capture, incidents=()))
    study = case.layout or attribution.without_copies(capture)
    kept = frozenset(keep)
    tried = [
        LayoutTrial(
            slug,
            text,
            attribution.layout(graph) or attribution.without_copies(graph) if graph else study.left(kept),
        )
        for slug, text, graph in trials
    ]
    notes = (*case.capture.notes, *_notes(study))
    case = replace(case, capture=replace(case.capture, notes=notes))
    return findings.examine(replace(case, moments=(), layout=study, trials=tuple(tried)))


def _notes(study: LayoutStudy) -> Iterator[ReadNote]:
    """What of the graph is not known, and what tells it."""
    if study.malformed:
        (name, reason), count = study.malformed[0], len(study.malformed)
        nodes = "1 node is" if count == 1 else f"{count} nodes are"
        first = "" if count == 1 else ", the first of them"
        yield ReadNote(f"{nodes} not understood, and of unknown shape: {name}{first}, because {reason}")
    if study.unknown:
        yield ReadNote(
            f"the sizes of {study.unknown} copies are not known before the run: --batch or --input-shape"
            " tells them"
        )


def study_with_tensorflow(source: str, options: grappler.LayoutPassOptions, hints: Hints = Hints()) -> Report:
    """The copies in the graph that the real pass makes of this one, and what each edit that was tried leaves.
    Raises a TfmemlensError.
    """
    before = graph_capture(source, hints)
    with tempfile.TemporaryDirectory() as folder:
        runs = grappler.run_pass(before, options, hints, folder)
        after = [_after(run["out"], before, runs.tensorflow, hints) for run, _ in runs.done]
    trials: list[_Trial] = [
        (str(run["remedy"]), _what_was_done(run, told, after[0]), capture)
        for (run, told), capture in zip(runs.done[1:], after[1:], strict=True)
    ]
    if "data-format-nchw" in options.tries:
        trials.append(("data-format-nchw", grappler.TRIES["data-format-nchw"], None))
    return layout_report(replace(after[0], notes=(*before.notes, *runs.notes)), trials, keep=grappler.NATIVE)


def _after(path: str, before: Capture, version: str, hints: Hints) -> Capture:
    """The optimised graph as a capture that still names the user's file."""
    capture = graph_capture(path, hints)
    short = ".".join(version.split(".")[:2])
    assert capture.graph
    return replace(
        capture,
        source=replace(before.source, version=(short, short)),
        graph=replace(capture.graph, producer=version),
    )


def _what_was_done(run: dict[str, Any], told: dict[str, Any], base: Capture) -> str:
    """What was done for one edit, in a sentence."""
    text = grappler.TRIES[str(run["remedy"])]
    count = told["changed"]
    if count:
        text += f": {count} node{'' if count == 1 else 's'} changed"
    elif count is not None:
        text += ": there is none in this graph"
    if run["remedy"] == "pass-off" and base.graph is not None:
        text += _temporaries(base.graph, infer(base.graph))
    return text


def _temporaries(graph: Graph, types: Types) -> str:
    """The most that one convolution kernel then needs inside: its input, output and filter once more."""
    sizes = [
        (
            sum(
                each.bytes or 0
                for each in (types[node.name][0], *(type_of(types, name) for name in node.inputs[:2]))
            ),
            node.name,
        )
        for node in graph
        if node.op in ("Conv2D", "_FusedConv2D") and len(node.inputs) > 1
    ]
    if not sizes or not max(sizes)[0]:
        return ""
    size, name = max(sizes)
    return f", into temporaries of up to {human(size)} ({name}) that are freed at once"
