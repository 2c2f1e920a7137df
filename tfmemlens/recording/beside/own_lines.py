"""Leaves out of a stream what TensorFlow's profiler writes because of our recording: its lines between two
marks of ours. Whatever else stands there is the program's, and stays: a thread of it may write meanwhile.
"""

from __future__ import annotations

import re

from tfmemlens.recording.inside.own_lines import BEGIN, END

_MOST_HELD = 1 << 16
"""A line that is longer is none of the profiler's."""
_START = rb"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: )?[IWE](?:\d{4} [\d:.]+ +\d+)? "
_SOURCES = (
    rb"(?:[\w./-]*/profiler/[\w./-]*"
    rb"|[\w./-]*?(?:profiler_session|save_profile|capture_profile|cupti_\w+|device_tracer\w*|gpu_tracer))"
)
_OURS = re.compile(rb"^(?:" + _START + _SOURCES + rb"\.(?:cc|h):\d+\] .*|.*/\.window-\d+/.*)$", re.DOTALL)
_BEGINS = re.compile(rb"^[\dIWED]")
"""How a line begins that may be the profiler's: only such are waited for."""


class LinesToLeaveOut:
    """Of one stream, piece by piece."""

    def __init__(self) -> None:
        self._held = b""
        self._between_marks = False
        self._left_out = False
        """Whether the last line between marks was left out: TensorFlow 2.4 ends a list of files by an empty
        one.
        """

    def passed(self, piece: bytes) -> bytes:
        """What of it goes on now."""
        data, self._held = self._held + piece, b""
        if not self._between_marks and BEGIN[:1] not in data:
            return data
        passed = []
        while data:
            mark = END if self._between_marks else BEGIN
            before, found, after = data.partition(mark)
            if not found:
                before, after = _without_start_of(mark, data)
            passed.append(self._filtered(before, bool(found)) if self._between_marks else before)
            if not found:
                self._held += after
                break
            self._between_marks, self._left_out, data = mark == BEGIN, False, after
        return b"".join(passed)

    def rest(self) -> bytes:
        """What was held back when the stream ended."""
        held, self._held = self._held, b""
        return held

    def _filtered(self, data: bytes, ends: bool) -> bytes:
        """The program's part of what stands between marks; a line that is not whole waits."""
        passed = []
        for line in data.splitlines(keepends=True):
            whole = line.endswith(b"\n")
            if not whole and not ends and len(line) < _MOST_HELD and _BEGINS.match(line):
                self._held = line
                break
            text = line.rstrip(b"\r\n")
            if (whole or ends) and (_OURS.match(text) or (self._left_out and not text)):
                self._left_out = bool(text)
            else:
                self._left_out = False
                passed.append(line)
        return b"".join(passed)


def _without_start_of(mark: bytes, data: bytes) -> tuple[bytes, bytes]:
    """The data, and what at its end may be the first part of a mark."""
    for length in range(min(len(mark) - 1, len(data)), 0, -1):
        if data.endswith(mark[:length]):
            return data[:-length], data[-length:]
    return data, b""
