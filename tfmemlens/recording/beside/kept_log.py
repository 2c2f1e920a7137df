"""A log of any length in bounded space: its head and its tail on disk, its last bytes in memory, too."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import BinaryIO

HEAD_BYTES = 16 << 20
"""Kept from the start: versions, devices, the model's summary."""
TAIL_BYTES = 48 << 20
"""At most kept from the end, in segments of which the oldest goes."""
MEMORY_BYTES = 4 << 20
"""Kept in memory for the case that the disk takes no more."""
_SEGMENTS = 6
_LONGEST_LINE = 64 << 10
"""A line that has not ended by then is written in parts."""


class KeptLog:
    """Takes what several streams write. Whole lines stay whole, whichever stream writes in between."""

    def __init__(self, path: str, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self.path = path
        self.problem = ""
        """Why the disk takes no more, empty while it does."""
        self.total_bytes = 0
        self._head_left, self._segment_bytes = head_bytes, max(tail_bytes // _SEGMENTS, 1)
        self._file: BinaryIO | None = None
        self._room = 0
        self._segments: deque[str] = deque()
        self._made = self._dropped = 0
        self._open_lines: dict[int, bytes] = {}
        self._memory: deque[bytes] = deque()
        self._memory_bytes = 0

    def add(self, stream: int, data: bytes) -> None:
        """Some bytes of a stream; the line that they leave open waits for its end."""
        self.total_bytes += len(data)
        data = self._open_lines.pop(stream, b"") + data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) - end > _LONGEST_LINE:
            end = len(data)
        if end < len(data):
            self._open_lines[stream] = data[end:]
        self._write(data[:end])

    def flush(self) -> None:
        """Write the lines that are open."""
        for data in self._open_lines.values():
            self._write(data)
        self._open_lines.clear()

    def close(self) -> int:
        """Make one file of head and tail, with a line that says what was dropped between them. Returns the
        bytes that were dropped.
        """
        self.flush()
        try:
            self._joined()
        except OSError as error:
            self._give_up(error)
        return self._dropped

    @property
    def tail(self) -> bytes:
        """The last megabytes, from memory."""
        return b"".join(self._memory)

    def text(self) -> str:
        """What was kept, in whole lines, once it is closed; where the disk did not take all, the end."""
        if self.problem:
            told = self.tail.decode("utf-8", "replace")
        else:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                told = file.read()
        return told if not told or told.endswith("\n") else f"{told}\n"

    def _write(self, data: bytes) -> None:
        if not data:
            return
        self._memory.append(data)
        self._memory_bytes += len(data)
        while self._memory_bytes > MEMORY_BYTES and len(self._memory) > 1:
            self._memory_bytes -= len(self._memory.popleft())
        if self.problem:
            return
        try:
            self._to_disk(data)
        except OSError as error:
            self._give_up(error)

    def _to_disk(self, data: bytes) -> None:
        if self._file is None:
            self._file = open(self.path, "wb", buffering=0)
            self._room = self._head_left
        start = 0
        while start < len(data):
            if self._room == 0:
                self._next_segment()
            part = data[start : start + self._room]
            written = self._file.write(part) or 0
            start += written
            self._room -= written

    def _next_segment(self) -> None:
        assert self._file
        if len(self._segments) == _SEGMENTS:
            oldest = self._segments.popleft()
            self._dropped += os.path.getsize(oldest)
            Path(oldest).unlink()
        self._file.close()
        self._made += 1
        self._segments.append(f"{self.path}.part{self._made:06}")
        self._file = open(self._segments[-1], "wb", buffering=0)
        self._room = self._segment_bytes

    def _joined(self) -> None:
        if self._file is None:
            open(self.path, "wb").close()
            return
        self._file.close()
        with open(self.path, "ab") as whole:
            if self._dropped:
                whole.write(b"\n[tfmemlens run: %d bytes of the output are left out here]\n" % self._dropped)
            while self._segments:
                with open(self._segments[0], "rb") as part:
                    while piece := part.read(1 << 20):
                        whole.write(piece)
                whole.flush()
                Path(self._segments.popleft()).unlink()

    def _give_up(self, error: OSError) -> None:
        if self._file is not None:
            self._file.close()
        self.problem = self.problem or f"{self.path}: {error.strerror or error}"
