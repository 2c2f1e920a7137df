"""Event files of TensorBoard (`events.out.tfevents.*`): traced steps that `FileWriter.add_run_metadata` put there, and what trace_export leaves.

Records are framed as length, checksum, data, checksum. A file may hold many steps, each with its tag; the newest is shown unless `--tag`
or `--step` asks for another. `tf.summary.trace_export` (TF2) stores graphs only, no step statistics.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from tfmemlens.errors import UnreadableInput, UsageError
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.readers import graph, run_metadata
from tfmemlens.readers.inputs import Opened

_VERSION = b"brain.Event:"


def sniff_bytes(head: bytes, opened: Opened) -> bool:
    """Whether the first record is the file's version."""
    del opened
    return _VERSION in head[:64]


def read_file(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The newest traced step, or the one asked for; the others are named in a note. Raises UnreadableInput, UsageError."""
    from google.protobuf.message import DecodeError

    from tfmemlens.schema import parse

    steps: dict[str, tuple[int, bytes]] = {}
    exports: list[bytes] = []
    graph_def = b""
    damaged = ""
    for raw, problem in _records(opened):
        if problem:
            damaged = problem
            break
        try:
            event = parse("Event", raw)
        except DecodeError:
            continue
        if event.HasField("tagged_run_metadata"):
            steps[event.tagged_run_metadata.tag or f"step{event.step}"] = (event.step, event.tagged_run_metadata.run_metadata)
        graph_def = event.graph_def or graph_def
        exports += [
            data for value in event.summary.value if value.metadata.plugin_data.plugin_name.startswith("graph_run_metadata") for data in value.tensor.string_val
        ]
    notes = [ReadNote(f"{opened.path}: {damaged}; what stands before it is shown")] if damaged else []
    if not steps and not exports and not graph_def:
        raise UnreadableInput(
            f"{opened.path} holds no traced step: {(len(notes) and 'it is damaged') or 'only scalars or other summaries'}", run_metadata.HOW_TO_TRACE
        )
    found = _chosen(opened.path, steps, exports, hints)
    if found is None:
        defs = [parse("GraphDef", graph_def)] if graph_def else []
        notes.append(ReadNote(f"{opened.path} holds a graph, but no step statistics; {run_metadata.HOW_TO_TRACE}"))
        return Capture(Source(opened.path, ("tfevents",), "tensorflow"), graph=graph.of_graph_defs(defs) if defs else None, notes=tuple(notes))
    capture, chosen = found
    if len(steps) > 1:
        others = ", ".join(tag for tag in list(steps)[:12] if tag != chosen)
        notes.append(ReadNote(f"{opened.path} holds {len(steps)} traced steps; this is {chosen} (--tag or --step for another: {others})"))
    formats = ("tfevents", *capture.source.formats)
    return Capture(Source(opened.path, formats, "tensorflow"), timelines=capture.timelines, graph=capture.graph, notes=(*notes, *capture.notes))


def _chosen(path: str, steps: dict[str, tuple[int, bytes]], exports: list[bytes], hints: Hints) -> tuple[Capture, str] | None:
    if hints.tag is not None and hints.tag not in steps:
        raise UsageError(f"{path} holds no step with the tag {hints.tag!r}", f"it holds: {', '.join(steps) or 'none'}")
    matching = [tag for tag, (step, _) in steps.items() if hints.step is None or step == hints.step]
    if hints.step is not None and not matching:
        raise UsageError(f"{path} holds no traced step {hints.step}", f"it holds: {', '.join(str(step) for step, _ in steps.values()) or 'none'}")
    if steps:
        tag = hints.tag or matching[-1]
        metadata, notes = run_metadata.parse_prefix("RunMetadata", steps[tag][1], depth=2)
    elif exports:
        tag = "trace_export"
        metadata, notes = run_metadata.parse_prefix("RunMetadata", exports[-1], depth=2)
    else:
        return None
    return (run_metadata.capture_of(metadata, path, notes, types=hints.types), tag) if metadata is not None else None


def _records(opened: Opened) -> Iterator[tuple[Any, str]]:
    """Each record's data, or what is wrong with the file from here on. Checksums are not looked at: a wrong length shows anyway."""
    opened.file.seek(0)
    at = 0
    while head := opened.file.read(12):
        if len(head) < 12:
            yield b"", "the last record is cut"
            return
        length = struct.unpack("<Q", head[:8])[0]
        if at + 16 + length > opened.size:
            yield b"", f"the record at byte {at:,} is cut or its length is damaged"
            return
        yield opened.file.read(length), ""
        opened.file.seek(4, 1)
        at += 16 + length
