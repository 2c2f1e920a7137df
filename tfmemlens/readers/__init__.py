"""What did the input say? One format a module; the content decides which, never the name."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.readers import catalogue, dispatch
from tfmemlens.readers.gathering import inputs, merge_logs, opening, traced_steps
from tfmemlens.values import replace


def read(sources: list[inputs.Input], hints: Hints = Hints()) -> Capture:
    """The capture of one input, or of several as one. Raises UnreadableInput, UsageError."""
    captures = []
    labels = _labels(sources)
    for source, label in zip(sources, labels, strict=True):
        try:
            captures.append(_read_one(source, label, hints))
        except UnreadableInput as problem:
            if len(sources) == 1:
                raise
            captures.append(
                Capture(Source(source.path), notes=(ReadNote(f"{source.name}: {problem.sentence}"),))
            )
    if not captures:
        raise UnreadableInput(
            "there is nothing to read", "name a file, or pipe a log: `tfmemlens explain - < train.log`"
        )
    capture = replace(merge_logs.merge(traced_steps.told_apart(catalogue.joined(captures))), hints=hints)
    if not hints.graph:
        return capture
    from tfmemlens.readers.formats import graph_file
    from tfmemlens.readers.graphs import graph_join

    return graph_join.join(capture, graph_file.read_graph(hints.graph))


def _labels(sources: list[inputs.Input]) -> list[str]:
    """What evidence lines call several inputs: each its name, with its folder where others have it, too."""
    if len(sources) == 1:
        return [""]
    names = Counter(source.name for source in sources)
    return [
        source.name if names[source.name] == 1 else os.path.join(*Path(source.path).parts[-2:])
        for source in sources
    ]


def _read_one(source: inputs.Input, label: str, hints: Hints) -> Capture:
    if source.tag is not None or source.step is not None:
        hints = replace(hints, tag=source.tag, step=source.step)
    with (opened := opening.open_input(source)).file:
        opened.label = label
        capture = dispatch.read(opened, hints)
    if not label or capture.network is None:
        return capture
    advice = (
        f"{source.name} is a model, and nothing that ran: `tfmemlens estimate {source.path}` predicts a step"
    )
    return replace(capture, network=None, notes=(ReadNote(advice), *capture.notes))
