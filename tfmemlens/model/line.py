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


class ReadNote(NamedTuple):
    """Something a reader saw and did not understand, or had to leave out."""

    text: str
    line: Line | None = None
