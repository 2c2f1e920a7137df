"""Bytes out of storage: files of any file system, decompressed, with the members of archives one by one.

What the storage does wrong is a StorageError, worth another attempt. What is wrong in the bytes themselves is
said of the input, and what stands before the damage is read.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeAlias

from tfmemlens.errors import MissingExtra, TfmemlensError
from tfmemlens.fleet.extras import load
from tfmemlens.fleet.sources import MEMBER, Listed, StorageOptions, as_text, file_system, is_local
from tfmemlens.patterns import regex
from tfmemlens.units import human
from tfmemlens.values import dataclass

SMALL = 8 << 20
"""A file of this many bytes is asked for at once."""
_PIECE = 1 << 20
_BLOCK = 4 << 20
_UNPACKED = 64 << 10
_MEMBER_PIECE = 4 << 10
"""Of a cut tar file, so much before the cut is lost at most."""
_FRAME_PIECE = 4 << 10
"""Bytes of a compressed frame that are unpacked at once: they may hold a thousand times as many."""
_NO_CREDENTIALS = regex(r"(?:No|Default|Partial|Missing)Credentials")
"""In the names of the classes that botocore and google.auth have for it."""
_LAYERS = 2
_USTAR, _USTAR_AT = b"ustar", 257
_ZIP, _ZSTANDARD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
_KERAS = {"config.json", "metadata.json"}
"""The members of a zip file that is a Keras model."""

Bytes: TypeAlias = "io.BufferedReader[Any]"
"""Bytes that can be looked at before they are taken: of a file, or unpacked."""


class StorageError(Exception):
    """The storage did not give what it lists: worth another attempt."""


class GoneError(Exception):
    """The file is not there any more, or is closed to us: no attempt will help now."""


class NoCredentialsError(Exception):
    """Credentials for the storage are missing here: they may be there in the next scan, and not before."""


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
    """The answer of a storage. Raises GoneError, NoCredentialsError, and StorageError for anything else that
    it does: each of the many file systems has errors of its own.
    """
    try:
        return question()
    except TfmemlensError:
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError) as problem:
        raise GoneError(f"{type(problem).__name__}: {problem}") from None
    except Exception as problem:
        told = f"{type(problem).__name__}: {problem}" if str(problem) else repr(problem)
        without = _NO_CREDENTIALS.search(type(problem).__name__)
        raise (NoCredentialsError if without else StorageError)(told) from None


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
    return is_tar or head.startswith(_ZIP) or _opener(head[:6]) is not None


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
    """What a file holds: itself, decompressed, or the members of an archive. Of each no more than the limit
    is given. Raises StorageError, GoneError.
    """
    raw = stored(listed, options)
    with raw:
        damaged: list[str] = []
        stream = _decompressed(raw, damaged)
        head = stream.peek(_PIECE)
        if head[_USTAR_AT : _USTAR_AT + len(_USTAR)] == _USTAR:
            yield from _members_of_tar(listed, stream, damaged, limit_bytes)
        elif head[: len(_ZIP)] == _ZIP and stream is raw:
            yield from _members_of_zip(listed, raw, limit_bytes)
        else:
            yield _entry(listed.source, stream, listed.size, damaged, limit_bytes)


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
    for _ in range(_LAYERS):
        opener = _opener(stream.peek(_PIECE)[:6])
        if opener is None:
            break
        stream = io.BufferedReader(_Raw(_until_damaged(opener(stream), damaged)), _PIECE)
    return stream


def _opener(head: bytes) -> Callable[[Any], Any] | None:
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return lambda stream: gzip.GzipFile(fileobj=stream)  # has no name
    if head.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lzma.LZMAFile
    if head.startswith(_ZSTANDARD):
        load("zstandard")
        return _Zstandard
    return None


class _Zstandard:
    """Zstandard's frames, one after the other; unlike the package's own reader it knows a cut one."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left = stream, b""
        self._decoder: Any = None

    def read(self, count: int) -> bytes:
        """Up to so many bytes. Raises EOFError where a frame is cut, ZstdError where it is damaged."""
        while not self._left:
            raw = self._stream.read(_FRAME_PIECE)
            if not raw:
                if self._decoder is not None:
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
                return b""
            self._left = self._decoded(raw)
        piece, self._left = self._left[:count], self._left[count:]
        return piece

    def _decoded(self, raw: bytes) -> bytes:
        content = b""
        while raw:
            decoder = self._decoder or load("zstandard").ZstdDecompressor().decompressobj()
            content += decoder.decompress(raw)
            raw, self._decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
        return content


def _until_damaged(file: IO[bytes], damaged: list[str], most: int = _UNPACKED) -> Callable[[int], bytes]:
    """Reads until the packed bytes end or make no sense, which is noted."""
    import lzma
    import tarfile

    try:
        zstandard_error: type[Exception] = load("zstandard").ZstdError
    except MissingExtra:  # then nothing is packed so
        zstandard_error = EOFError
    errors = (EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError, zstandard_error)

    some = getattr(file, "read1", file.read)  # `read` would lose what stands before the damage

    def read(count: int) -> bytes:
        try:
            return bytes(some(min(count, most)))
        except errors as problem:
            damaged.append(f"damaged: {problem}")
            return b""

    return read


def _members_of_tar(listed: Listed, stream: Bytes, damaged: list[str], limit_bytes: int) -> Iterator[Entry]:
    import tarfile

    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if not member.isfile() or _is_hidden(member.name):
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    own: list[str] = []
                    inner = io.BufferedReader(_Raw(_until_damaged(file, own, _MEMBER_PIECE)), _PIECE)
                    source = f"{listed.source}{MEMBER}{as_text(member.name)}"
                    yield _entry(source, _decompressed(inner, own), member.size, own, limit_bytes)
    except (tarfile.TarError, EOFError) as problem:
        damaged.append(f"damaged: {problem}")
    if damaged:
        yield _entry(listed.source, io.BufferedReader(io.BytesIO()), listed.size, damaged, limit_bytes)


def _members_of_zip(listed: Listed, raw: Bytes, limit_bytes: int) -> Iterator[Entry]:
    import zipfile

    try:
        archive = zipfile.ZipFile(raw)
    except zipfile.BadZipFile as problem:
        empty = io.BufferedReader(io.BytesIO())
        yield _entry(listed.source, empty, listed.size, [f"damaged: {problem}"], limit_bytes)
        return
    if set(archive.namelist()) >= _KERAS:
        raw.seek(0)
        yield _entry(listed.source, raw, listed.size, [], limit_bytes)
        return
    for member in archive.infolist():
        if member.is_dir() or _is_hidden(member.filename):
            continue
        source = f"{listed.source}{MEMBER}{as_text(member.filename)}"
        own: list[str] = []
        inner = io.BufferedReader(_Raw(_member_of_zip(archive, member, own)), _PIECE)
        yield _entry(source, _decompressed(inner, own), member.file_size, own, limit_bytes)


def _member_of_zip(archive: Any, member: Any, damaged: list[str]) -> Callable[[int], bytes]:
    import zipfile

    if member.flag_bits & 1:
        damaged.append("encrypted")
        return _nothing
    try:
        read = _until_damaged(archive.open(member), damaged)
    except (NotImplementedError, zipfile.BadZipFile) as problem:
        damaged.append(f"damaged: {problem}")
        return _nothing

    def checked(count: int) -> bytes:
        try:
            return read(count)
        except zipfile.BadZipFile as problem:
            damaged.append(f"damaged: {problem}")
            return b""

    return checked


def _nothing(count: int) -> bytes:
    del count
    return b""


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))
