"""Event files of TensorBoard (`events.out.tfevents.*`): traced steps that `FileWriter.add_run_metadata` put
there, and what trace_export leaves.

Records are framed as length, checksum, data, checksum. A file may hold many steps, each with its tag; the
newest is shown unless `--tag` or `--step` asks for another. `tf.summary.trace_export` (TF2) stores graphs
only, no step statistics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tfmemlens import progress
from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes.damaged_protobuf import parse_prefix
from tfmemlens.readers.contract import Confidence, ListedStep, Sample
from tfmemlens.readers.formats import run_metadata
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.values import dataclass, field

HOLDS = Holds.ALLOCATIONS
SUFFIXES = (".tfevents",)
_VERSION = b"brain.Event:"
_TAGGED = regex(rb"\A(?:\x09.{8})?(?:\x10[\x80-\xff]*[\x00-\x7f])?\x42", re.DOTALL)
"""An event (wall time, step) that goes on with field 8, tagged_run_metadata."""
_SUMMED = regex(rb"\A(?:\x09.{8})?(?:\x10[\x80-\xff]*[\x00-\x7f])?[\x22\x2a]", re.DOTALL)
"""One that goes on with a graph or with summaries."""
_EXPORT = b"graph_run_metadata"


@dataclass
class _Events:
    """What the file holds, by the place of its record: big files are gone through once and read where
    needed.
    """

    steps: dict[str, tuple[int, float, int]] = field(default_factory=dict)
    """By tag: (step, wall time, where its record is)."""
    exports: list[tuple[int, float, int]] = field(default_factory=list)
    graph_def: bytes = b""
    damaged: str = ""


def sniff(sample: Sample) -> Confidence:
    """The first record is the file's version."""
    return Confidence.CERTAIN if _VERSION in sample.binary[:64] else Confidence.NO


def steps(opened: Opened) -> Iterator[ListedStep]:
    """The traced steps of the file, by tag."""
    return (ListedStep(tag, step, time) for tag, (step, time, _) in _events(opened).steps.items())


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The newest traced step, or the one asked for; the others are named in a note. Raises UnreadableInput,
    UsageError.
    """
    from tfmemlens.readers.graphs import proto_graph

    events = _events(opened)
    notes = (
        [ReadNote(f"{opened.path}: {events.damaged}; what stands before it is shown")]
        if events.damaged
        else []
    )
    if not events.steps and not events.exports and not events.graph_def:
        raise UnreadableInput(
            f"{opened.path} holds no traced step:"
            f" {(len(notes) and 'it is damaged') or 'only scalars or other summaries'}",
            run_metadata.HOW_TO_TRACE,
        )
    traced = _chosen(opened, events, hints)
    graph_def = parse_prefix("GraphDef", events.graph_def, depth=0)[0] if events.graph_def else None
    written = proto_graph.of_graph_defs([graph_def]) if graph_def is not None else None
    if traced is None:
        notes.append(
            ReadNote(f"{opened.path} holds a graph, but no step statistics; {run_metadata.HOW_TO_TRACE}")
        )
        return Capture(Source(opened.path, ("tfevents",), "tensorflow"), graph=written, notes=tuple(notes))
    capture, chosen = traced
    if len(events.steps) > 1 and hints.tag is None and hints.step is None:
        others = ", ".join(tag for tag in list(events.steps)[:12] if tag != chosen)
        notes.append(
            ReadNote(
                f"{opened.path} holds {len(events.steps)} traced steps; this is {chosen} (--tag or --step for"
                f" another: {others})"
            )
        )
    formats = ("tfevents", *capture.source.formats)
    whole = Source(opened.path, formats, "tensorflow")
    return Capture(
        whole, timelines=capture.timelines, graph=capture.graph or written, notes=(*notes, *capture.notes)
    )


def _events(opened: Opened) -> _Events:
    """Where the steps are. Summaries are looked into only where a trace_export may be."""
    from google.protobuf.message import DecodeError

    from tfmemlens.schema import parse

    events = _Events()
    for at, raw, problem in _records(opened):
        if problem:
            events.damaged = problem
            break
        tagged = _TAGGED.match(raw)
        if not tagged and not (_SUMMED.match(raw) and (_EXPORT in raw or b"\x22" in raw[:24])):
            continue
        try:
            event = parse("Event", raw)
        except DecodeError:
            continue
        if event.HasField("tagged_run_metadata"):
            events.steps[event.tagged_run_metadata.tag or f"step{event.step}"] = (
                event.step,
                event.wall_time,
                at,
            )
        events.graph_def = event.graph_def or events.graph_def
        if _exported(event):
            events.exports.append((event.step, event.wall_time, at))
    return events


def _exported(event: Any) -> list[bytes]:
    """The RunMetadata of a trace_export summary."""
    named = (
        value
        for value in event.summary.value
        if value.metadata.plugin_data.plugin_name.startswith(_EXPORT.decode())
    )
    return [data for value in named for data in value.tensor.string_val]


def _chosen(opened: Opened, events: _Events, hints: Hints) -> tuple[Capture, str] | None:
    path, steps = opened.path, events.steps
    if hints.tag is not None and hints.tag not in steps:
        raise UsageError(
            f"{path} holds no step with the tag {hints.tag!r}", f"it holds: {', '.join(steps) or 'none'}"
        )
    matching = [tag for tag, (step, _, _) in steps.items() if hints.step in (None, step)]
    if hints.step is not None and not matching:
        raise UsageError(
            f"{path} holds no traced step {hints.step}",
            f"it holds: {', '.join(str(step) for step, _, _ in steps.values()) or 'none'}",
        )
    if steps:
        tag = hints.tag or matching[-1]
        raw = _event_at(opened, steps[tag][2]).tagged_run_metadata.run_metadata
    elif events.exports:
        tag = "trace_export"
        raw = _exported(_event_at(opened, events.exports[-1][2]))[-1]
    else:
        return None
    metadata, notes = parse_prefix("RunMetadata", raw, depth=2)
    return (
        (run_metadata.capture_of(metadata, path, notes, types=hints.types), tag)
        if metadata is not None
        else None
    )


def _event_at(opened: Opened, at: int) -> Any:
    from tfmemlens.schema import parse

    opened.file.seek(at)
    length = int.from_bytes(opened.file.read(12)[:8], "little")
    return parse("Event", opened.file.read(length))


def _records(opened: Opened) -> Iterator[tuple[int, bytes, str]]:
    """Each record: where it is, its data, or what is wrong with the file from here on. Checksums are not
    looked at: a wrong length shows anyway.
    """
    opened.file.seek(0)
    at = 0
    while head := opened.file.read(12):
        if len(head) < 12:
            yield at, b"", "the last record is cut"
            return
        length = int.from_bytes(head[:8], "little")
        if at + 16 + length > opened.size:
            yield at, b"", f"the record at byte {at:,} is cut or its length is damaged"
            return
        progress.at(opened.name, at, opened.size)
        yield at, opened.file.read(length), ""
        opened.file.seek(4, 1)
        at += 16 + length
