"""All that a stretch of a program prints: what Python writes to its streams, and what C++ writes past them.

TensorFlow logs to the process's own standard error, which no `sys.stderr` sees. So both descriptors are led
through a pipe, from where everything goes on to where it went before, and into a log.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from tfmemlens.recording.beside.kept_log import KeptLog

_STREAMS = (("stdout", 1), ("stderr", 2))
_PIPE_BYTES = 1 << 20
"""So much can be logged by who holds Python's lock, while nobody reads."""
_PIECE = 1 << 16
_WAIT_SECONDS = 1.0
"""For the rest of the output: a child of the program may hold the pipe open for longer."""


class Printed:
    """Copies what is printed inside `with` into a log, which takes bytes of stream 1 and 2."""

    def __init__(self, log: KeptLog) -> None:
        self._log, self._lock = log, threading.Lock()
        self._ends: list[Callable[[], None]] = []

    def __enter__(self) -> Printed:
        for name, number in _STREAMS:
            stream = getattr(sys, name, None)
            with suppress(OSError):  # a process without that descriptor
                self._lead_through_a_pipe(number)
            if stream is not None and not _writes_to(stream, number):
                self._listen(stream, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        for name, _ in _STREAMS:
            with suppress(AttributeError, OSError, ValueError):
                getattr(sys, name).flush()
        while self._ends:
            self._ends.pop()()

    def _add(self, number: int, data: bytes) -> None:
        with self._lock:
            self._log.add(number, data)

    def _lead_through_a_pipe(self, number: int) -> None:
        before = os.dup(number)
        reading, writing = os.pipe()
        _enlarge(writing)
        os.dup2(writing, number)
        os.close(writing)

        def relay() -> None:
            while data := os.read(reading, _PIECE):
                self._add(number, data)
                with suppress(OSError):
                    _write_all(before, data)
            os.close(reading)
            os.close(before)

        thread = threading.Thread(target=relay, daemon=True, name=f"tfmemlens-{number}")
        thread.start()

        def end() -> None:
            os.dup2(before, number)  # closes the pipe's end, if no child has it, too
            thread.join(_WAIT_SECONDS)

        self._ends.append(end)

    def _listen(self, stream: Any, number: int) -> None:
        """A stream of a notebook writes to no descriptor; what its kernel found on one, it is given, too."""
        write = stream.write

        def write_and_keep(text: str) -> Any:
            if threading.current_thread() is not getattr(stream, "watch_fd_thread", None):
                self._add(number, str(text).encode("utf-8", "replace"))
            return write(text)

        try:
            stream.write = write_and_keep
        except AttributeError:  # a stream that nobody may change is not listened to
            return
        self._ends.append(lambda: delattr(stream, "write"))


def _writes_to(stream: Any, number: int) -> bool:
    try:
        return bool(stream.fileno() == number)
    except (AttributeError, OSError, ValueError):
        return False


def _write_all(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


def _enlarge(number: int) -> None:
    """As large a pipe as Linux grants."""
    with suppress(ImportError, OSError):
        import fcntl

        resize = getattr(fcntl, "F_SETPIPE_SZ", None)
        if resize is not None:
            fcntl.fcntl(number, resize, _PIPE_BYTES)
