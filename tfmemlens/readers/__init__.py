"""What did the input say? One format a module; the content decides which, never the name."""

from __future__ import annotations

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.readers import catalogue, dispatch
from tfmemlens.readers.gathering import inputs, merge_logs, opening, traced_steps
from tfmemlens.values import replace


def read(sources: list[inputs.Input], hints: Hints = Hints()) -> Capture:
    """The capture of one input, or of several as one. Raises UnreadableInput, UsageError."""
    captures = []
    for source in sources:
        try:
            captures.append(_read_one(source, several=len(sources) > 1, hints=hints))
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


def _read_one(source: inputs.Input, several: bool, hints: Hints) -> Capture:
    if source.tag is not None or source.step is not None:
        hints = replace(hints, tag=source.tag, step=source.step)
    with (opened := opening.open_input(source)).file:
        opened.label = source.name if several else ""
        capture = dispatch.read(opened, hints)
    if not several or capture.network is None:
        return capture
    advice = (
        f"{source.name} is a model, and nothing that ran: `tfmemlens estimate {source.path}` predicts a step"
    )
    return replace(capture, network=None, notes=(ReadNote(advice), *capture.notes))
