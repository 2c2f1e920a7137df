"""Streams out of storage: what is compressed is known by its first bytes, damaged content ends instead of
raising, and what was read ahead is read again.
"""

from __future__ import annotations

import codecs
import lzma
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from tfmemlens.fleet.extras import load

LAYERS = 2
"""So often something may be compressed."""
UNPACKED = 64 << 10
"""Bytes that are unpacked at once: of a damaged stream, so much before the damage is lost at most."""
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_FRAME_PIECE = 4 << 10
"""Bytes of a compressed frame that are unpacked at once: they may hold a thousand times as many."""
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


class Readable(Protocol):
    """All that is asked of a stream."""

    def read(self, count: int, /) -> bytes:
        """Up to so many bytes, none at the end."""


def opener(head: bytes) -> Callable[[Any], Any] | None:
    """What unpacks a stream that begins so; None where it is not compressed. Raises MissingExtra."""
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return lambda stream: gzip.GzipFile(fileobj=stream)  # has no name
    if head.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile
    if head.startswith(_ZSTANDARD):
        load("zstandard")
        return _Zstandard
    return None


class _Zstandard:
    """Zstandard's frames, one after the other; unlike the package's own reader it knows a cut one."""

    def __init__(self, stream: Readable) -> None:
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


class Guarded:
    """A stream that ends where its content is damaged, and says so; whole reads, as files on a disk give. At
    most `most` bytes are asked for at once: what stands before damage is given.
    """

    def __init__(
        self, stream: Readable, told: Callable[[str], object] | None = None, most: int | None = None
    ) -> None:
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read) if most else stream.read
        self._told, self._most = told, most
        self.problem: str | None = None
        """What is wrong with the content."""
        self.size = 0
        """Bytes that were read."""

    def read(self, count: int, /) -> bytes:
        """So many bytes, fewer only at the end. Raises OSError where the storage failed."""
        pieces: list[bytes] = []
        while count > 0 and (piece := self._some(count)):
            pieces.append(piece)
            count -= len(piece)
            self.size += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _some(self, count: int) -> bytes:
        if self.problem:
            return b""
        try:
            return self._read(min(count, self._most or count))
        except _damage() as damage:
            self._damaged(damage)
        except OSError as error:  # bz2's and gzip's have no number of the system's
            if error.errno is not None:
                raise
            self._damaged(error)
        return b""

    def _damaged(self, damage: Exception) -> None:
        self.problem = f"damaged after {self.size:,} bytes: {damage}"
        if self._told:
            self._told(self.problem)


def _damage() -> tuple[type[Exception], ...]:
    """What unpacking raises; where Zstandard was not imported, nothing is packed so."""
    zstandard = sys.modules.get("zstandard")
    return (*_DAMAGE, zstandard.ZstdError) if zstandard else _DAMAGE


class Rest:
    """A stream of which the first bytes have been read already."""

    def __init__(self, first: bytes, stream: Readable) -> None:
        self._first, self._stream = first, stream

    def read(self, count: int, /) -> bytes:
        """Up to so many bytes."""
        if not self._first:
            return self._stream.read(count)
        piece, self._first = self._first[:count], self._first[count:]
        return piece


class Recoded:
    """A text of two bytes a character as UTF-8."""

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, count: int, /) -> bytes:
        """Up to so many bytes, as well as that goes: a character more or less."""
        raw = self._stream.read(max(count // 3 * 2, 2))
        return self._decoder.decode(raw, final=not raw).encode("utf-8", "replace")
