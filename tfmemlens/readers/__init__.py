"""What did the input say? One format a module; the content decides which, never the name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tfmemlens import discovery
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.capture import Capture, Hints, Source
from tfmemlens.model.line import ReadNote
from tfmemlens.readers import formats
from tfmemlens.readers.bytes import texts
from tfmemlens.readers.formats import log_memory, memory_dump, oom_log, xla_dump
from tfmemlens.readers.gathering import inputs, merge_logs, traced_steps

_LARGEST_NOTEBOOK = 256 << 20


def read(sources: list[inputs.Input], hints: Hints = Hints()) -> Capture:
    """The capture of one input, or of several as one."""
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
    found = replace(merge(traced_steps.told_apart(xla_dump.complete(captures))), hints=hints)
    if not hints.graph:
        return found
    from tfmemlens.readers.formats import graph_file
    from tfmemlens.readers.graphs import graph_join

    return graph_join.join(found, graph_file.read_graph(hints.graph))


def describes_a_model(sources: list[inputs.Input]) -> bool:
    """Whether there is one input, and it is a model as Keras saved it rather than anything that ran."""
    if len(sources) != 1 or sources[0].text is not None or not Path(sources[0].path).is_file():
        return False
    try:
        with open(sources[0].path, "rb") as file:
            first = file.read(2)
    except OSError:
        return False
    if first not in (b"PK", b"\x89H", b"\x1f\x8b") and first[:1] != b"{":
        return False
    from tfmemlens.readers import keras_models

    return keras_models.is_model(sources[0].path)


def _read_one(source: inputs.Input, several: bool, hints: Hints) -> Capture:
    opened = inputs.open_input(source)
    if source.tag is not None or source.step is not None:
        hints = replace(hints, tag=source.tag, step=source.step)
    with opened.file:
        if not opened.size:
            raise _nothing_in(source)
        head = opened.head()
        if source.text is None and _control_share(head) > 0.02:
            if found := _read_binary(opened, head, hints):
                return found
            if not texts.speaks_of_memory(opened):
                raise UnreadableInput(
                    f"{opened.path} is binary, and none of the formats that tfmemlens knows",
                    "it reads logs, MemoryDump, RunMetadata, tfevents, XSpace and tfprof files",
                )
        return _read_text(opened, head, source.name if several else "", hints)


def _nothing_in(source: inputs.Input) -> UnreadableInput:
    if source.path != "-" and source.text is None and Path(source.path).stat().st_size:
        return UnreadableInput(
            f"{source.path} is damaged: nothing of it can be unzipped", "copy the file again, in binary mode"
        )
    name = "standard input" if source.path == "-" else source.path
    return UnreadableInput(f"{name} is empty", "was the log flushed before the process died?")


def _is_page(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
    return start.startswith((b"<!doctype html", b"<html"))


def _control_share(head: bytes) -> float:
    """How much of a text's first bytes no text has; a log with holes (a full disk leaves zeros) still is
    one.
    """
    if texts.encoding_of(head).startswith("utf-16"):
        return 0.0
    sample = head[:4096]
    return sum(byte < 9 or 13 < byte < 27 for byte in sample) / max(len(sample), 1)


def _read_binary(opened: inputs.Opened, head: bytes, hints: Hints) -> Capture | None:
    for module in discovery.plugins(formats, "sniff_bytes", "read_file").values():
        if module.sniff_bytes(head, opened):
            found: Capture = module.read_file(opened, hints)
            return found
    return None


def _read_text(opened: inputs.Opened, head: bytes, name: str, hints: Hints) -> Capture:
    for module in discovery.plugins(formats, "sniff_text", "read_text").values():
        if module.sniff_text(head):
            found: Capture = module.read_text(opened, name, hints)
            return found
    if (
        head.lstrip()[:1] == b"{"
        and opened.size < _LARGEST_NOTEBOOK
        and (text := texts.notebook_text(head, opened.all())) is not None
    ):
        return oom_log.read(enumerate(text.split("\n"), 1), opened.path, name)
    if log_memory.sniff_text(opened.samples()):
        return log_memory.read_text(opened, name, hints)
    lines, whole = texts.text_lines(opened)
    told = oom_log.read(lines, opened.path, name)
    if _is_page(head) and not told.incidents:
        page = ReadNote(
            f"{opened.path} is a web page, not the file behind its link: download it with the site's button"
            " for raw files"
        )
        told = replace(told, notes=(page, *told.notes))
    if whole:
        return told
    note = ReadNote(
        f"of {opened.size >> 20} MiB only the places that speak of memory were parsed; lines are given by"
        " their byte position"
    )
    return replace(told, source=replace(told.source, by_bytes=True), notes=(*told.notes, note))


def merge(captures: list[Capture]) -> Capture:
    """Several captures as one: the failures of all, the first graph, all notes."""
    if len(captures) == 1:
        return captures[0]
    captures = memory_dump.join(captures)
    first, ordered = captures[0], [merge_logs.failing(captures), *captures]
    formats = tuple(dict.fromkeys(name for found in captures for name in found.source.formats))
    source = Source(
        ", ".join(found.source.path for found in captures),
        formats,
        next((found.source.framework for found in ordered if found.source.framework), None),
        next((found.source.version for found in ordered if found.source.version), None),
    )
    return replace(
        first,
        source=source,
        incidents=merge_logs.incidents(captures),
        timelines=tuple(timeline for found in captures for timeline in found.timelines),
        graph=next((found.graph for found in captures if found.graph), None),
        surroundings=merge_logs.surroundings(captures),
        notes=(*merge_logs.silent(captures), *(note for found in captures for note in found.notes)),
    )
