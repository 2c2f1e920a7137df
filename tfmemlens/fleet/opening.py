"""Bytes out of storage: files of any file system, decompressed, with the members of archives one by one.

What the storage does wrong is a StorageError, worth another attempt. What is wrong in the bytes themselves is
said of the input, and what stands before the damage is read.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeAlias, cast

from tfmemlens.errors import TfmemlensError
from tfmemlens.fleet import streams
from tfmemlens.fleet.sources import MEMBER, Listed, StorageOptions, as_text, file_system, is_local
from tfmemlens.patterns import regex
from tfmemlens.units import human
from tfmemlens.values import dataclass

SMALL = 8 << 20
"""A file of this many bytes is asked for at once."""
_PIECE = 1 << 20
_BLOCK = 4 << 20
_MEMBER_PIECE = 4 << 10
"""Of a cut tar file, so much before the cut is lost at most."""
_NO_CREDENTIALS = regex(r"(?:No|Default|Partial|Missing)Credentials")
"""In the names of the classes that botocore and google.auth have for it."""
_ARCHIVES = 2
"""So deep archives may lie in one another: what lies deeper is an input that no reader knows."""
_USTAR, _USTAR_AT = b"ustar", 257
_ZIP = b"PK\x03\x04"
_KERAS = {"config.json", "metadata.json"}
"""The members of a zip file that is a Keras model."""

Bytes: TypeAlias = "io.BufferedReader[Any]"
"""Bytes that can be looked at before they are taken: of a file, or unpacked."""


class StorageError(Exception):
    """The storage did not give what it lists: worth another attempt."""


class GoneError(Exception):
    """The file is not there any more: no attempt will help now."""


class RefusedError(Exception):
    """The file is closed to us, or credentials for the storage are missing here: both may be otherwise in the
    next scan, and not before.
    """


@dataclass
class Entry:
    """A file, or a member of an archive, with its bytes."""

    source: str
    stream: Bytes
    size: int | None
    damage: Callable[[], str]
    """What was wrong with the bytes that were read so far, empty where nothing was."""


class _Raw(io.RawIOBase):
    """Bytes from a function `read(count)`; a whole piece at a time, so that one look shows a whole head."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, filled = memoryview(buffer), 0
        while filled < len(view):
            piece = self._read(len(view) - filled)
            if not piece:
                break
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled


class _Stored(_Raw):
    """A file in storage, of the size that it had when it was opened. Raises StorageError."""

    def __init__(self, file: IO[bytes], size: int | None) -> None:
        super().__init__(self._asked)
        self._file, self._size, self._at = file, size, 0

    def _asked(self, count: int) -> bytes:
        if self._size is not None:
            count = min(count, self._size - self._at)
        if count <= 0:
            return b""
        piece: bytes = _ask(lambda: self._file.read(count))
        if not piece and self._size is not None:
            raise StorageError(f"cut after {self._at:,} of {self._size:,} bytes")
        self._at += len(piece)
        return piece

    def seekable(self) -> bool:
        return self._size is not None

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size or 0}[whence]
        self._at = int(_ask(lambda: self._file.seek(base + offset)))
        return self._at

    def close(self) -> None:
        self._file.close()
        super().close()


def _ask(question: Callable[[], Any]) -> Any:
    """The answer of a storage. Raises GoneError, RefusedError, and StorageError for anything else that
    it does: each of the many file systems has errors of its own.
    """
    try:
        return question()
    except TfmemlensError:
        raise
    except (FileNotFoundError, IsADirectoryError) as problem:
        raise GoneError(f"{type(problem).__name__}: {problem}") from None
    except PermissionError as problem:  # who grants it changes no file: the next scan asks again
        raise RefusedError(f"{type(problem).__name__}: {problem}") from None
    except MemoryError:
        raise  # of what a file may take: no storage's error
    except Exception as problem:
        told = f"{type(problem).__name__}: {problem}" if str(problem) else repr(problem)
        without = _NO_CREDENTIALS.search(type(problem).__name__)
        raise (RefusedError if without else StorageError)(told) from None


def stored(listed: Listed, options: StorageOptions) -> Bytes:
    """The bytes of a file as they lie in storage. Raises StorageError, GoneError."""
    fs, path = _ask(lambda: file_system(listed.url, options))
    if not is_local(fs) and listed.size is not None and listed.size <= SMALL:
        content = _ask(lambda: fs.cat_file(path))
        if len(content) < listed.size and len(content) < _ask(lambda: fs.info(path))["size"]:
            raise StorageError(f"cut after {len(content):,} of {listed.size:,} bytes")
        return io.BufferedReader(io.BytesIO(content))
    file = _ask(lambda: fs.open(path, "rb", block_size=_BLOCK))
    return io.BufferedReader(_Stored(file, getattr(file, "size", None)), _PIECE)


def is_packed(head: bytes) -> bool:
    """Whether first bytes are those of an archive or of something compressed."""
    is_tar = head[_USTAR_AT : _USTAR_AT + len(_USTAR)] == _USTAR
    return is_tar or head.startswith(_ZIP) or streams.opener(head[:6]) is not None


def is_now(listed: Listed, options: StorageOptions) -> bool:
    """Whether a file on a disk is still as long as it was; others are not asked once more."""
    fs, path = file_system(listed.url, options)
    return not is_local(fs) or (fs.exists(path) and fs.info(path)["size"] == listed.size)


def fetched(listed: Listed, options: StorageOptions, folder: str) -> Any:
    """A bundle as a folder on this machine: its own place, or a copy in `folder`. Raises StorageError,
    GoneError.
    """
    fs, path = _ask(lambda: file_system(listed.url, options))
    if is_local(fs):
        return path
    _ask(lambda: fs.get(path, folder, recursive=True))
    return folder


def entries(listed: Listed, options: StorageOptions, limit_bytes: int) -> Iterator[Entry]:
    """What a file holds: itself, decompressed, or the members of an archive, those of archives in it too. Of
    each no more than the limit is given. Raises StorageError, GoneError.
    """
    raw = stored(listed, options)
    with raw:
        whole = _Content(listed.source, raw, listed.size, [], _ARCHIVES)
        yield from _opened(whole, limit_bytes)


@dataclass
class _Content:
    """A file or a member as it lies in storage; `damaged` is what was wrong with its bytes so far, `archives`
    how many of them may lie in one another here.
    """

    source: str
    stream: Bytes
    size: int | None
    damaged: list[str]
    archives: int

    def member(self, name: str, stream: Bytes, size: int | None, damaged: list[str]) -> _Content:
        """A member of this archive."""
        return _Content(f"{self.source}{MEMBER}{as_text(name)}", stream, size, damaged, self.archives - 1)


def _opened(content: _Content, limit_bytes: int) -> Iterator[Entry]:
    """The entries of a file or a member."""
    stream = _decompressed(content.stream, content.damaged)
    head = stream.peek(_PIECE)
    if content.archives and head[_USTAR_AT : _USTAR_AT + len(_USTAR)] == _USTAR:
        yield from _members_of_tar(content, stream, limit_bytes)
    elif content.archives and head.startswith(_ZIP):
        if stream.seekable():
            yield from _members_of_zip(content, stream, limit_bytes)
        else:
            with tempfile.TemporaryFile() as file:  # Python 3.10 cannot read a spooled one as a buffer
                _copy(stream, file, limit_bytes)
                yield from _members_of_zip(content, cast("Bytes", file), limit_bytes)
    else:
        yield _entry(content.source, stream, content.size, content.damaged, limit_bytes)


def _copy(stream: Bytes, spool: IO[bytes], limit_bytes: int) -> None:
    """The bytes of a stream, as far as the limit."""
    left = limit_bytes
    while left > 0 and (piece := stream.read(min(_PIECE, left))):
        spool.write(piece)
        left -= len(piece)
    spool.seek(0)


def _entry(source: str, stream: Bytes, size: int | None, damaged: list[str], limit_bytes: int) -> Entry:
    left = limit_bytes

    def read(count: int) -> bytes:
        nonlocal left
        piece = stream.read(min(count, left))
        left -= len(piece)
        return piece

    def damage() -> str:
        cut = (
            [f"only the first {human(limit_bytes)} were read (--limit-content)"]
            if not left and stream.peek(1)
            else []
        )
        return "; ".join([*damaged, *cut])

    bounded = (
        stream if stream.seekable() and (size or 0) <= limit_bytes else io.BufferedReader(_Raw(read), _PIECE)
    )
    return Entry(source, bounded, size, damage)


def _decompressed(stream: Bytes, damaged: list[str]) -> Bytes:
    """The content of what is compressed, by its first bytes, also twice."""
    for _ in range(streams.LAYERS):
        opener = streams.opener(stream.peek(_PIECE)[:6])
        if opener is None:
            break
        stream = _guarded(opener(stream), damaged)
    return stream


def _guarded(file: Any, damaged: list[str], most: int = streams.UNPACKED) -> Bytes:
    """Bytes that end where they are damaged, which is noted."""
    return io.BufferedReader(_Raw(streams.Guarded(file, damaged.append, most).read), _PIECE)


def _members_of_tar(content: _Content, stream: Bytes, limit_bytes: int) -> Iterator[Entry]:
    import tarfile

    damaged = content.damaged
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if not member.isfile() or _is_hidden(member.name):
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    own: list[str] = []
                    inner = _guarded(file, own, _MEMBER_PIECE)
                    yield from _opened(content.member(member.name, inner, member.size, own), limit_bytes)
    except (tarfile.TarError, EOFError) as problem:
        damaged.append(f"damaged: {problem}")
    if damaged:
        yield _nothing_of(content, limit_bytes)


def _nothing_of(content: _Content, limit_bytes: int) -> Entry:
    """An archive itself, for what is to say of it."""
    empty = io.BufferedReader(io.BytesIO())
    return _entry(content.source, empty, content.size, content.damaged, limit_bytes)


def _members_of_zip(content: _Content, stream: Bytes, limit_bytes: int) -> Iterator[Entry]:
    import zipfile

    try:
        archive = zipfile.ZipFile(stream)
    except zipfile.BadZipFile as problem:
        content.damaged.append(f"damaged: {problem}")
        yield _nothing_of(content, limit_bytes)
        return
    if set(archive.namelist()) >= _KERAS:
        stream.seek(0)
        yield _entry(content.source, stream, content.size, content.damaged, limit_bytes)
        return
    for member in archive.infolist():
        if not member.is_dir() and not _is_hidden(member.filename):
            own: list[str] = []
            inner = _member_of_zip(archive, member, own)
            yield from _opened(content.member(member.filename, inner, member.file_size, own), limit_bytes)


def _member_of_zip(archive: Any, member: Any, damaged: list[str]) -> Bytes:
    import zipfile

    if member.flag_bits & 1:
        damaged.append("encrypted")
        return io.BufferedReader(io.BytesIO())
    try:
        return _guarded(archive.open(member), damaged)
    except (NotImplementedError, zipfile.BadZipFile) as problem:
        damaged.append(f"damaged: {problem}")
        return io.BufferedReader(io.BytesIO())


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))
