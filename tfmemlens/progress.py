"""How far a long read has come: one line on a terminal, after a second, gone when the answer comes.

Readers tell where they are (`at`), the command line decides whether anybody wants to see it (`shown`).
Nothing is drawn into pipes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from tfmemlens.escaping import visible

DELAY, STEP = 1.0, 0.1
"""Seconds before the line appears, and between two drawings of it."""
_WIDTH = 24
_line: _Line | None = None


def at(name: str, done: int, total: int = 0) -> None:
    """A reader has come so far (bytes; a total of 0 is unknown) with what is called `name`. Costs next to
    nothing when nobody listens.
    """
    if _line is not None:
        _line.draw(name, done, total)


def line(text: str) -> None:
    """How far something is that is no single read, in words of its own."""
    if _line is not None:
        _line.put(text)


def done() -> None:
    """The answer is about to be printed: take the line away."""
    if _line is not None:
        _line.clear()


@contextmanager
def shown(stream: TextIO, wanted: bool = True) -> Iterator[None]:
    """Draw while the block runs, on a terminal only."""
    global _line
    if not (wanted and stream.isatty()):
        yield
        return
    before, _line = _line, _Line(stream)
    try:
        yield
    finally:
        done()
        _line = before


class _Line:
    """`reading trace.pb  [########----------------]  33 %  421 of 1,280 MiB`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._next, self._drawn = stream, time.monotonic() + DELAY, 0

    def draw(self, name: str, done: int, total: int) -> None:
        """Draw a bar, if it is time."""
        share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        full = int(share * _WIDTH)
        bar = (
            f"[{'#' * full}{'-' * (_WIDTH - full)}] {share:4.0%}  {done >> 20:,} of {total >> 20:,} MiB"
            if total > 0
            else f"{done >> 20:,} MiB"
        )
        self.put(f"reading {visible(name[-30:])}  {bar}")

    def put(self, text: str) -> None:
        """Draw a text, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + STEP
        self._stream.write(f"\r{text.ljust(self._drawn)}")
        self._stream.flush()
        self._drawn = len(text)

    def clear(self) -> None:
        """Leave an empty line behind."""
        if self._drawn:
            self._stream.write(f"\r{' ' * self._drawn}\r")
            self._stream.flush()
            self._drawn = 0
