"""The incidents of one input as rows: what every engine calls, in any number of processes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from tfmemlens.errors import UnreadableInput
from tfmemlens.fleet import ranges, schema, streams, texts
from tfmemlens.fleet.flow import Origin, Places, ReadResult, Row, explained, status_of
from tfmemlens.model.capture import Capture, Hints, Holds
from tfmemlens.readers import dispatch
from tfmemlens.readers.bytes import own_pages
from tfmemlens.readers.bytes.texts import encoding_of, looks_binary
from tfmemlens.readers.gathering import inputs, opening

_HEAD = 1 << 16
WHOLE = 2 << 20
"""Texts up to this size are parsed as one: every line of them costs as much as one of a failure."""


def incidents(
    text_or_path: str | bytes | os.PathLike[str], *, source: str | None = None, **labels: str
) -> list[Row]:
    """The failures in a log as rows of `tfmemlens.fleet.schema.INCIDENTS`: for Spark's `mapInPandas`, Ray, a
    loop.

    Takes a path, a text, or the bytes of a file. `source` is what the rows are called after, else the path;
    `team`, `job`, `rank` and `host` fill these columns, all other keywords the column `labels`. Raises
    UnreadableInput where nothing can be read; needs none of the packages of `tfmemlens[fleet]` but that for
    what Zstandard has compressed.
    """
    year = None
    with ExitStack() as stack:
        stream: BinaryIO
        if isinstance(text_or_path, bytes):
            name, stream = "(bytes)", BytesIO(text_or_path)
        else:
            given = inputs.resolve(text_or_path)
            if len(given) != 1:
                raise UnreadableInput(f"{text_or_path} holds several files", "call it for each of them")
            name, text = given[0].path, given[0].text
            if text is None:
                if os.path.isfile(name):
                    year = datetime.fromtimestamp(Path(name).stat().st_mtime, timezone.utc).year
                stream = stack.enter_context(opening.open_input(given[0]).file)
                stream.seek(0)
            else:
                stream = BytesIO(text.encode("utf-8", "replace"))
        result = read_bytes(stream, source=source or name, labels=labels, year=year)
    if result.status == schema.UNREADABLE:
        raise UnreadableInput(f"{source or name}: {result.reason}", "look at its first bytes")
    return result.rows


def read_bytes(
    stream: BinaryIO,
    *,
    source: str,
    labels: Mapping[str, str] | None = None,
    year: int | None = None,
    scan: str | None = None,
) -> ReadResult:
    """All incidents of an input whose content a stream gives from its beginning; it need not be able to seek.

    `year` is what stamps without one belong to: that of the input's last change, say. Nothing in the content
    raises: what cannot be read has the status `unreadable` and a reason. Errors of the storage (OSError with
    a number) are the caller's, who may try again.
    """
    origin = Origin(source, labels or {}, year, scan)
    guarded = streams.Guarded(stream)
    raw = guarded.read(inputs.SMALL + 1)
    for _ in range(streams.LAYERS):
        opener = streams.opener(raw[:6])
        if opener is None:
            break
        guarded = streams.Guarded(opener(streams.Rest(raw, guarded)), most=streams.UNPACKED)
        raw = guarded.read(inputs.SMALL + 1)
    if not raw:
        status = schema.UNREADABLE if guarded.problem else schema.NO_FAILURE
        return ReadResult([], status, guarded.problem or "it is empty")
    if own_pages.is_own(raw[:_HEAD]):
        return ReadResult([], schema.NO_FAILURE, "a page that tfmemlens wrote", size_read=len(raw))
    if looks_binary(raw[:_HEAD]):
        return _binary(raw, guarded, origin)
    if len(raw) <= WHOLE:
        return texts.read(raw, origin, guarded.problem)
    encoding = encoding_of(raw[:_HEAD])
    if encoding.startswith("utf-16"):
        guarded = streams.Guarded(streams.Recoded(streams.Rest(raw, guarded), encoding))
        return ranges.read_stream(guarded, origin)
    return ranges.read_stream(streams.Rest(raw, guarded), origin)


def _binary(raw: bytes, rest: streams.Guarded, origin: Origin) -> ReadResult:
    """What is no text: only dumps of an allocator, and logs with holes, tell of a failure. Of a trace no more
    is read than its first megabytes.
    """
    with tempfile.SpooledTemporaryFile(max_size=inputs.SMALL) as spool:
        spool.write(raw)
        name = os.path.basename(origin.source)
        opened = inputs.Opened(origin.source, name, spool, len(raw))  # type: ignore[arg-type]
        matches = dispatch.recognise(opened)
        if not matches:
            return ReadResult(
                [], schema.UNREADABLE, "binary, of no format that tfmemlens knows", size_read=rest.size
            )
        if matches[0].holds > Holds.FAILURES:
            return ReadResult(
                [], schema.NO_FAILURE, f"{matches[0].slug}: no record of a failure", size_read=rest.size
            )
        while piece := rest.read(inputs.SMALL):
            spool.write(piece)
        opened.size = rest.size

        def capture() -> Capture:
            return dispatch.read(opened, Hints())

        rows, problem = explained(capture, origin, Places())
        problem = rest.problem or problem
        return ReadResult(rows, status_of(rows, problem), problem, size_read=rest.size)
