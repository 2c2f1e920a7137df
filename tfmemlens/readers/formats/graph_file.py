"""Graphs in files: GraphDef, MetaGraphDef and SavedModel, binary (.pb, .meta) or as text (.pbtxt), gzipped or
not, and a SavedModel's folder.

A RunMetadata, an event file and a capture of any other kind that carries a graph are read by their own
readers; `read_graph` takes all of them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Holds, Source
from tfmemlens.model.graph import Graph
from tfmemlens.model.line import ReadNote
from tfmemlens.patterns import regex
from tfmemlens.readers import dispatch
from tfmemlens.readers.bytes.wire import varint
from tfmemlens.readers.contract import Confidence, Sample
from tfmemlens.readers.gathering import inputs, opening
from tfmemlens.readers.gathering.inputs import Opened

HOLDS = Holds.GRAPH
SUFFIXES = (".pb", ".pbtxt", ".meta")
COMPANIONS = (".index",)
"""A checkpoint's table of contents."""
BESIDE_STEPS = ("function_graphs.pb",)
"""The graphs of a program's functions, as `tfmemlens run --trace` keeps them."""
KINDS = ("GraphDef", "MetaGraphDef", "SavedModel")
_NAME = regex(rb"\A[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
_OP = regex(rb"\A[A-Za-z_][A-Za-z0-9_>.]*\Z")
_TEXT = (
    ("GraphDef", regex(rb"(?:\s|#[^\n]*\n)*(?:node|library|versions) ?\{")),
    ("MetaGraphDef", regex(rb"(?:\s|#[^\n]*\n)*(?:meta_info_def|graph_def) ?\{")),
    ("SavedModel", regex(rb"(?:\s|#[^\n]*\n)*(?:saved_model_schema_version ?:|meta_graphs ?\{)")),
)
HINT = (
    "give a GraphDef, MetaGraphDef (.meta), SavedModel, their .pbtxt, or a RunMetadata with"
    " output_partition_graphs=True"
)


def read_graph(path: str | os.PathLike[str]) -> Graph:
    """The graph in a file or a SavedModel's folder, whatever holds it. Raises UnreadableInput."""
    where = os.fspath(path)
    with (opened := opening.open_input(inputs.Input(saved_model_file(where) or where))).file:
        capture = dispatch.read(opened, Hints())
    if capture.graph is None or not (capture.graph.nodes or capture.graph.functions):
        raise UnreadableInput(f"{where} holds no graph", capture.reasons(HINT))
    return capture.graph


def saved_model_file(folder: str) -> str | None:
    """The protobuf file of a SavedModel's folder; None if the folder is none."""
    candidates = [os.path.join(folder, name) for name in ("saved_model.pb", "saved_model.pbtxt")]
    return next((each for each in candidates if os.path.isfile(each)), None)


def sniff(sample: Sample) -> Confidence:
    """The first message is a node with a name and an op, a MetaInfoDef before a graph, or a schema version
    before a MetaGraphDef; or a text names one of these fields first.
    """
    known = kind_of(sample.binary) or kind_of_text(sample.text)
    return Confidence.LIKELY if known else Confidence.NO


def kind_of(head: bytes) -> str | None:
    """Which of the three messages begins like this."""
    if _is_node(head) or _is_library(head):
        return "GraphDef"
    if head[:1] == b"\x08" and len(head) > 3 and head[1] < 8 and head[2:3] == b"\x12":
        _, at = varint(head, 3)
        return "SavedModel" if _is_meta_graph(head[at:]) else None
    return "MetaGraphDef" if _is_meta_graph(head) else None


def _field(head: bytes, at: int, tag: bytes) -> tuple[bytes, int] | None:
    """The length-delimited field with this tag at this place, and where the next one is."""
    if head[at : at + 1] != tag:
        return None
    length, start = varint(head, at + 1)
    return head[start : start + length], start + length


def _is_node(head: bytes) -> bool:
    """A GraphDef's first node: its name, then its op."""
    outer = _field(head, 0, b"\x0a")
    name = _field(outer[0], 0, b"\x0a") if outer else None
    op = _field(outer[0], name[1], b"\x12") if outer and name else None
    return bool(name and op and _NAME.match(name[0]) and _OP.match(op[0]))


def _is_library(head: bytes) -> bool:
    """A GraphDef without nodes of its own: functions, each with a signature and its name."""
    inner = head
    for tag in (b"\x12", b"\x0a", b"\x0a", b"\x0a"):
        content = _field(inner, 0, tag)
        if content is None:
            return False
        inner = content[0]
    return bool(_NAME.match(inner) or inner.startswith(b"__"))


def _is_meta_graph(head: bytes) -> bool:
    """A MetaInfoDef, or straight the graph where there is none. The op list in front may be longer than what
    is at hand.
    """
    info = _field(head, 0, b"\x0a")
    if info is None:
        graph = _field(head, 0, b"\x12")
        return bool(graph and _is_node(graph[0]))
    if info[1] < len(head):
        after = _field(head, info[1], b"\x12")
        return bool(after and (_is_node(after[0]) or _is_library(after[0]) or not after[0]))
    ops = _field(info[0], 0, b"\x12") or (
        version and _field(info[0], version[1], b"\x12") if (version := _field(info[0], 0, b"\x0a")) else None
    )
    first = _field(ops[0], 0, b"\x0a") if ops else None
    name = _field(first[0], 0, b"\x0a") if first else None
    return bool(name and _OP.match(name[0]))


def read(opened: Opened, hints: Hints = Hints()) -> Capture:
    """The graph. Raises UnreadableInput."""
    del hints
    raw = opened.all()
    head = raw[: 1 << 16]
    if (kind := kind_of_text(head)) and not kind_of(head):
        return _of_text(kind, raw, opened.path)
    return _of_bytes(kind_of(head) or "GraphDef", raw, opened.path)


def _of_bytes(kind: str, raw: bytes, path: str) -> Capture:
    from google.protobuf.message import DecodeError

    from tfmemlens.schema import parse

    try:
        return _capture(kind, parse(kind, raw), path)
    except DecodeError:
        raise UnreadableInput(
            f"{path} looks like a {kind}, but it is cut or damaged",
            "copy the file again, in binary mode",
        ) from None


def kind_of_text(head: bytes) -> str | None:
    """Which of the three messages a text in protobuf's text format is."""
    return next((kind for kind, pattern in _TEXT if pattern.match(head)), None)


def _of_text(kind: str, raw: bytes, path: str) -> Capture:
    from google.protobuf import text_format

    from tfmemlens.schema import parse_text

    try:
        message = parse_text(kind, raw.decode("utf-8", "replace"))
    except text_format.ParseError as error:
        raise UnreadableInput(f"{path} is a damaged text {kind}: {error}", "copy the file again") from None
    return _capture(kind, message, path)


def _capture(kind: str, message: Any, path: str) -> Capture:
    """The graph of the message; of a SavedModel its first MetaGraphDef that has one."""
    from tfmemlens.readers.graphs import proto_graph

    notes: list[ReadNote] = []
    meta = message if kind == "MetaGraphDef" else None
    if kind == "SavedModel":
        if not message.meta_graphs:
            raise UnreadableInput(f"{path} is a SavedModel without any graph", HINT)
        meta = message.meta_graphs[0]
        if len(message.meta_graphs) > 1:
            tags = "; ".join(",".join(each.meta_info_def.tags) for each in message.meta_graphs)
            notes.append(
                ReadNote(f"{path} holds {len(message.meta_graphs)} graphs ({tags}); this is the first")
            )
    graph_def = meta.graph_def if meta is not None else message
    version = meta.meta_info_def.tensorflow_version or None if meta is not None else None
    short = release[0] if version and (release := re.match(r"\d{1,3}\.\d{1,3}", version)) else None
    source = Source(
        path,
        ({"GraphDef": "graph-def", "MetaGraphDef": "meta-graph", "SavedModel": "saved-model"}[kind],),
        "tensorflow",
        (short, short) if short else None,
    )
    return Capture(
        source, graph=proto_graph.of_graph_defs([graph_def], _debug_info(path), version), notes=tuple(notes)
    )


def join(captures: list[Capture]) -> list[Capture]:
    """A bundle's graphs describe the traced steps that lie beside them, if these ran one of their nodes."""
    from tfmemlens.readers.graphs import graph_join

    described = list(captures)
    for given in captures:
        place = Path(given.source.path)
        if given.graph is None or given.timelines or place.name not in BESIDE_STEPS:
            continue
        for at, traced in enumerate(described):
            beside = Path(traced.source.path).parent == place.parent and traced.timelines
            if beside and graph_join.has_nodes_of(given.graph, traced):
                described[at] = graph_join.join(traced, given.graph)
        if any(capture.timelines for capture in described):
            described.remove(given)
    return described


def _debug_info(path: str) -> Any:
    """The tracebacks that TF2 writes beside a SavedModel, None without them."""
    beside = Path(path).parent / "debug" / "saved_model_debug_info.pb"
    if not beside.is_file() or not Path(path).name.startswith("saved_model"):
        return None
    from google.protobuf.message import DecodeError

    from tfmemlens.schema import parse

    try:
        return parse("GraphDebugInfo", beside.read_bytes())
    except (DecodeError, OSError):
        return None
