"""An input as bytes that can be looked at anywhere: streams are spooled to disk, archives unzipped, both up
to a limit.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from tfmemlens import progress
from tfmemlens.errors import UnreadableInput
from tfmemlens.model.line import ReadNote
from tfmemlens.readers.gathering.inputs import SMALL, Input, Opened
from tfmemlens.units import human

LIMIT = 4 << 30
"""Bytes of a stream or of an archive's content that are read: a small archive can hold zeros without end."""
_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"


def open_input(source: Input, limit: int | None = None) -> Opened:
    """Open a file, unzip it, or spool what is no file on a disk: standard input, a named pipe, a process
    substitution; `limit` is how many bytes of these are read. Raises UnreadableInput.
    """
    limit = LIMIT if limit is None else limit
    try:
        if source.text is not None:
            return opened_text(source.text, source.path, source.name)
        if source.path == "-":
            return _streamed(source, sys.stdin.buffer, limit)
        file = open(source.path, "rb")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            with file:
                return _streamed(source, file, limit)
        if file.read(2) == _GZIP:
            file.seek(0)
            with file:
                return _spooled(source, _unzipped(_pieces(file)), limit)
        return Opened(source.path, source.name, file, os.fstat(file.fileno()).st_size)
    except IsADirectoryError:
        raise UnreadableInput(f"{source.path} is a directory", "name a file in it") from None
    except OSError as error:
        raise UnreadableInput(
            f"{source.path} cannot be read: {error.strerror or error}", "check the path and its permissions"
        ) from None


def opened_text(text: str, path: str, name: str, label: str = "") -> Opened:
    """A text that was pasted, or taken out of an input."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    spool = _spool()
    spool.write(raw)
    return Opened(path, name, spool, len(raw), label, is_text=True)


def unzipped_start(path: str, count: int = 1 << 18) -> bytes:
    """The first bytes of what a gzip file holds, nothing for a file that is none."""
    import zlib

    with open(path, "rb") as file:
        raw = file.read(count)
    if raw[:2] != _GZIP:
        return b""
    try:
        return zlib.decompressobj(wbits=31).decompress(raw, count)
    except zlib.error:
        return b""


def _streamed(source: Input, stream: BinaryIO, limit: int) -> Opened:
    """What can be read once only; it may be an archive, too."""
    pieces = _pieces(stream)
    first = next(pieces, b"")
    whole = chain([first], pieces)
    return _spooled(source, _unzipped(whole) if first.startswith(_GZIP) else whole, limit)


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(_PIECE), b"")


def _unzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The content, in pieces of bounded size. A cut archive still gives what comes before the cut."""
    import zlib

    decoder = zlib.decompressobj(wbits=31)
    for raw in pieces:
        while raw:
            try:
                yield decoder.decompress(raw, _PIECE)
            except zlib.error:
                return
            raw = decoder.unconsumed_tail
            if decoder.eof:  # archives may follow each other
                raw = decoder.unused_data
                decoder = zlib.decompressobj(wbits=31)
    yield decoder.flush()


def _spool() -> BinaryIO:
    import tempfile

    return tempfile.SpooledTemporaryFile(max_size=SMALL)  # type: ignore[return-value]


def _spooled(source: Input, pieces: Iterator[bytes], limit: int) -> Opened:
    """On disk above a size, and no more than the limit."""
    spool = _spool()
    opened = Opened(source.path, source.name, spool, 0)
    for piece in pieces:
        room = limit - opened.size
        spool.write(piece[:room])
        opened.size += min(len(piece), room)
        progress.at(source.name, opened.size)
        if len(piece) > room:
            opened.notes.append(
                ReadNote(f"of {source.name} only the first {human(limit)} were read; the rest is left out")
            )
            break
    return opened
