"""An input as bytes that can be looked at anywhere: streams are spooled to disk, archives unzipped, both up
to a limit.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import BinaryIO

from tfmemlens import progress
from tfmemlens.errors import MissingInput, UnreadableInput
from tfmemlens.model.line import ReadNote
from tfmemlens.readers.gathering.inputs import SMALL, Input, Opened
from tfmemlens.units import human

LIMIT = 4 << 30
"""Bytes of a stream or of an archive's content that are read: a small archive can hold zeros without end."""
DOCUMENT = 128 << 20
"""Bytes of a document that is parsed as one."""
HOW_TO_READ_MORE = "--limit-read SIZE reads more"
_limit: ContextVar[int | None] = ContextVar("limit of what is read", default=None)
_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"


@contextmanager
def limited(count: int | None) -> Iterator[None]:
    """Whatever is opened within reads so many bytes of an archive or a stream; None is the usual limit."""
    before = _limit.set(count)
    try:
        yield
    finally:
        _limit.reset(before)


def limit() -> int:
    """Bytes of an archive or a stream that are read now."""
    return _limit.get() or LIMIT


def open_input(source: Input) -> Opened:
    """Open a file, unzip it, or spool what is no file on a disk: standard input, a named pipe, a process
    substitution; of these as many bytes are read as the limit allows. Raises UnreadableInput.
    """
    try:
        if source.text is not None:
            return opened_text(source.text, source.path, source.name)
        if source.raw is not None:
            return _in_memory(source, source.raw)
        if source.path == "-":
            return _streamed(source, sys.stdin.buffer)
        file = open(source.path, "rb")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            with file:
                return _streamed(source, file)
        if file.read(2) == _GZIP:
            file.seek(0)
            with file:
                return _spooled(source, _unzipped(_pieces(file)))
        return Opened(source.path, source.name, file, os.fstat(file.fileno()).st_size)
    except IsADirectoryError:
        raise UnreadableInput(f"{source.path} is a directory", "name a file in it") from None
    except FileNotFoundError:
        raise MissingInput(source.path) from None
    except OSError as error:
        raise UnreadableInput(
            f"{source.path} cannot be read: {error.strerror or error}", "check the path and its permissions"
        ) from None


def _in_memory(source: Input, raw: bytes) -> Opened:
    """Bytes that somebody else read; they may be an archive, too."""
    if raw.startswith(_GZIP):
        return _spooled(source, _unzipped(iter([raw])))
    spool = _spool()
    spool.write(raw)
    return Opened(source.path, source.name, spool, len(raw), parts=source.parts)


def document(opened: Opened) -> bytes:
    """Everything of what can be parsed only as one, such as JSON, and takes many times its size in memory.
    Raises UnreadableInput above a limit.
    """
    most = _limit.get() or DOCUMENT
    if opened.size > most:
        raise UnreadableInput(
            f"{opened.path} holds {human(opened.size)}, and documents like it are read up to {human(most)}",
            HOW_TO_READ_MORE,
        )
    return opened.all()


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


def _streamed(source: Input, stream: BinaryIO) -> Opened:
    """What can be read once only; it may be an archive, too."""
    pieces = _pieces(stream)
    first = next(pieces, b"")
    whole = chain([first], pieces)
    return _spooled(source, _unzipped(whole) if first.startswith(_GZIP) else whole)


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


def _spooled(source: Input, pieces: Iterator[bytes]) -> Opened:
    """On disk above a size, and no more than the limit."""
    spool = _spool()
    opened = Opened(source.path, source.name, spool, 0)
    most = limit()
    for piece in pieces:
        room = most - opened.size
        spool.write(piece[:room])
        opened.size += min(len(piece), room)
        progress.at(source.name, opened.size)
        if len(piece) > room:
            opened.notes.append(
                ReadNote(f"of {source.name} only the first {human(most)} were read; {HOW_TO_READ_MORE}")
            )
            break
    return opened
