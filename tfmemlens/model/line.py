"""A line of the input: what evidence quotes, so that readers can check us."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One line as the user has it: its number in the file (from 1), its text, and the file when there are
    several.
    """

    number: int
    text: str
    source: str = ""

    @property
    def place(self) -> str:
        """Where it stands, in words: `line 9`, of several files `line 9 of train.py`."""
        return f"line {self.number} of {self.source}" if self.source else f"line {self.number}"


class ReadNote(NamedTuple):
    """Something a reader saw and did not understand, or had to leave out."""

    text: str
    line: Line | None = None


UNREAD = "unrecognised memory message"
"""The note of a line that speaks of memory and that no reader took; beside a failure it may be prose."""
