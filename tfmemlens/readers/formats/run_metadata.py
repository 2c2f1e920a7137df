"""RunMetadata and bare StepStats of a traced step (`RunOptions.FULL_TRACE`), binary or as text."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.graph import Graph
from tfmemlens.model.line import ReadNote
from tfmemlens.patterns import regex
from tfmemlens.readers.bytes.damaged_protobuf import parse_prefix
from tfmemlens.readers.bytes.wire import varint
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering.inputs import Opened
from tfmemlens.values import replace

HOLDS = Holds.ALLOCATIONS
SUFFIXES = (".pb", ".pbtxt", ".json", ".bin", ".meta", ".profile", ".trace")
_DEVICE = regex(rb"/(?:job:|device:|host:|cpu:|gpu:|replica:)")
_FIELD = rb"(?:step_stats|dev_stats|partition_graphs|cost_graph|function_graphs)"
_TEXT = regex(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*" + _FIELD + rb"\s*:?\s*[{<]")
_JSON = regex(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:stepStats|devStats|partitionGraphs|functionGraphs|costGraph|'
    + _FIELD[3:-1]
    + rb')"\s*:'
)
HOW_TO_TRACE = (
    "trace one step with `tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)`,"
    " or record it with tf.profiler (TF2)"
)


def sniff(sample: Sample) -> Confidence:
    """The first nested field ends in a device's name (RunMetadata > StepStats > DeviceStepStats > device), or
    a text in protobuf's text format or JSON names one of its fields first.
    """
    binary = _depth(sample.binary) in (2, 3) or _starts_with_graphs(sample.binary)
    return Confidence.LIKELY if binary or _is_text(sample.text) else Confidence.NO


def _depth(head: bytes) -> int:
    """How many messages are nested before a device's name; 0 if there is none."""
    at = 0
    for depth in range(1, 4):
        if head[at : at + 1] != b"\x0a":
            return 0
        length, at = varint(head, at + 1)
        if depth >= 2 and length < 200 and _DEVICE.match(head[at : at + length]):
            return depth
    return 0


def _starts_with_graphs(head: bytes) -> bool:
    """A trace_export without step stats begins with partition graphs (field 3), then a GraphDef's first node
    with its name.
    """
    if head[:1] not in (b"\x1a", b"\x22"):
        return False
    _, at = varint(head, 1)
    if head[at : at + 1] != b"\x0a":
        return False
    _, at = varint(head, at + 1)
    return head[at : at + 1] == b"\x0a"


def _is_text(head: bytes) -> bool:
    """Whether a text is a RunMetadata or StepStats in protobuf's text format, or as protobuf writes JSON."""
    return bool(_TEXT.match(head) or _JSON.match(head))


_MAX_TYPED_ROWS = 5_000
"""Rows of a step up to which its types are kept at hand unless they are asked for."""


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The timelines of the step, and its partition graphs. Raises UnreadableInput."""
    from tfmemlens.readers.bytes import large_protobuf

    if _is_text(opened.head()):
        return _of_text(opened)
    name = "StepStats" if _depth(opened.head()) == 2 else "RunMetadata"
    if opened.size > large_protobuf.WHOLE_STEP:
        return _in_pieces(opened, bare=name == "StepStats")
    message, notes = parse_prefix(name, opened.all(), depth=2 if name == "RunMetadata" else 1)
    if message is None:
        raise UnreadableInput(
            f"{opened.path} looks like a {name}, and none of it can be read",
            "copy the file again, in binary mode",
        )
    return capture_of(
        message if name == "RunMetadata" else _wrapped(message), opened.path, notes, types=hints.types
    )


def _in_pieces(opened: Opened, bare: bool) -> Capture:
    """What protobuf cannot take in one go."""
    from tfmemlens.readers.bytes import large_protobuf

    parts = large_protobuf.Pieces(opened)
    capture = capture_of(large_protobuf.run_metadata(parts, bare), opened.path)
    cut = (ReadNote(f"{opened.path} is cut or damaged; what stands before is shown"),) if parts.cut else ()
    return replace(capture, notes=(*cut, *capture.notes))


def _of_text(opened: Opened) -> Capture:
    """The same from protobuf's text format, or its JSON. Raises UnreadableInput."""
    from google.protobuf import text_format

    from tfmemlens.schema import parse_text

    raw = opened.all()
    text = raw.decode("utf-8-sig", "replace")
    if _JSON.match(raw):
        return _of_json(opened.path, text)
    kind = "StepStats" if re.match(r"(?:\s|#[^\n]*\n)*dev_stats", text) else "RunMetadata"
    notes = []
    try:
        message = parse_text(kind, text)
    except text_format.ParseError as error:
        message, kept = _parse_what_closes(text.replace("\r\n", "\n"), kind)
        if message is None:
            raise UnreadableInput(
                f"{opened.path} is a damaged text {kind}: {str(error)[:200]}", "copy the file again"
            ) from None
        notes.append(
            ReadNote(
                f"the text is cut or damaged ({str(error)[:200]}); {kept} of its first entries are shown"
            )
        )
    return capture_of(message if kind == "RunMetadata" else _wrapped(message), opened.path, notes)


def _of_json(path: str, text: str) -> Capture:
    """What `json_format.MessageToJson` or `MessageToDict` wrote. Raises UnreadableInput."""
    from google.protobuf import json_format

    from tfmemlens.schema import parse_json

    kind = "StepStats" if re.match(r'\s*\{\s*"dev_?[sS]tats"', text) else "RunMetadata"
    try:
        message = parse_json(kind, text)
    except json_format.ParseError as error:
        raise UnreadableInput(
            f"{path} is a damaged {kind} in JSON: {str(error)[:200]}",
            "copy the file again, or save SerializeToString() instead",
        ) from None
    return capture_of(message if kind == "RunMetadata" else _wrapped(message), path)


def _parse_what_closes(text: str, kind: str) -> tuple[Any, int]:
    """The node_stats before the damage: entries end where their brace closes."""
    from google.protobuf import text_format

    from tfmemlens.schema import parse_text

    indent = "    " if kind == "RunMetadata" else "  "
    ends = [brace.end() for brace in re.finditer(rf"^{indent}\}}$", text, re.MULTILINE)]
    closing = "\n  }\n}\n" if kind == "RunMetadata" else "\n}\n"
    low, high, best = 0, len(ends), None
    while low < high:  # the damage is somewhere: what parses before it
        middle = (low + high + 1) // 2
        try:
            best = parse_text(kind, text[: ends[middle - 1]] + closing)
            low = middle
        except text_format.ParseError:
            high = middle - 1
    return best, low


def _wrapped(stats: Any) -> Any:
    from tfmemlens.schema import message

    metadata = message("RunMetadata")()
    metadata.step_stats.CopyFrom(stats)
    return metadata


def capture_of(metadata: Any, path: str, notes: list[ReadNote] | None = None, types: bool = False) -> Capture:
    """The capture of a RunMetadata message, TensorFlow's own or ours; `types` lets every output's type be
    asked for however large the step is.
    """
    from tfmemlens.readers.graphs import graph_join, proto_graph
    from tfmemlens.readers.timelines import step_liveness, step_stats

    timelines = tuple(step_stats.timelines(metadata.step_stats))
    timelines += tuple(step_liveness.timelines(metadata.step_stats, known=timelines))
    graphs = [
        *metadata.partition_graphs,
        *(part for group in getattr(metadata, "function_graphs", ()) for part in group.partition_graphs),
    ]
    notes = list(notes or [])
    if not timelines:
        traced = sum(len(device.node_stats) for device in metadata.step_stats.dev_stats)
        what = (
            f"it lists {traced:,} node executions, but no allocation of any"
            if traced
            else "it holds graphs, but no step statistics"
        )
        notes.append(ReadNote(f"{path}: {what}; {HOW_TO_TRACE}"))
    known = proto_graph.of_graph_defs(graphs) if graphs else None
    if known is not None:
        timelines = tuple(graph_join.with_variables(timeline, known) for timeline in timelines)
    small = sum(len(timeline.table) for timeline in timelines) <= _MAX_TYPED_ROWS
    return Capture(
        Source(path, ("run-metadata",), "tensorflow"),
        timelines=timelines,
        graph=known,
        notes=tuple(notes),
        with_types=partial(_with_types, metadata.step_stats) if timelines and (types or small) else None,
    )


def _with_types(step_stats: Any, known: Graph | None) -> Graph | None:
    from tfmemlens.readers.graphs.graph_types import graph_with_types

    return graph_with_types(step_stats, known)
