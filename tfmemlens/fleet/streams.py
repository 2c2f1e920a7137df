"""Streams out of storage: damaged archives end instead of raising, and what was read ahead is read again."""

from __future__ import annotations

import codecs
import gzip
import lzma
import zlib
from typing import BinaryIO, Protocol, cast

GZIP = b"\x1f\x8b"


class Readable(Protocol):
    """All that is asked of a stream."""

    def read(self, count: int, /) -> bytes:
        """Up to so many bytes, none at the end."""


class Guarded:
    """A stream that ends where its content is damaged, and says so; whole reads, as files on a disk give."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
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
            return self._stream.read(count)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as damage:
            self._damaged(damage)
        except (
            OSError
        ) as error:  # bz2 and zstandard have no class of their own, and no number of the system's
            if error.errno is not None:
                raise
            self._damaged(error)
        return b""

    def _damaged(self, damage: Exception) -> None:
        self.problem = f"damaged after {self.size:,} bytes: {damage}"


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


class Unzipped:
    """The content of a gzip stream, as far as it can be read."""

    def __init__(self, stream: Readable) -> None:
        self._file = gzip.GzipFile(fileobj=cast(BinaryIO, stream))  # it only reads

    def read(self, count: int, /) -> bytes:
        """Up to so many bytes: what stands before damage is given before that raises."""
        return self._file.read1(count)


class Recoded:
    """A text of two bytes a character as UTF-8."""

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, count: int, /) -> bytes:
        """Up to so many bytes, as well as that goes: a character more or less."""
        raw = self._stream.read(max(count // 3 * 2, 2))
        return self._decoder.decode(raw, final=not raw).encode("utf-8", "replace")
