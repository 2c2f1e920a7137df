"""What the reader of a format is asked, and how sure it can be. `readers/formats/__init__.py` has the whole
contract.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from tfmemlens.readers.bytes import texts
from tfmemlens.readers.gathering.inputs import SMALL, Opened
from tfmemlens.values import dataclass


class Confidence(IntEnum):
    """How sure a format is that an input is its own. The surest reads; of equals the first by name."""

    NO = 0
    IF_TOLD = 1
    """Much else begins like this: read only where the user says what it is, as the model of `estimate`."""
    FALLBACK = 2
    """Whatever nobody else knows may be this."""
    LIKELY = 3
    """What it looks like is seldom something else."""
    CERTAIN = 4
    """A signature, or words that only this format has."""


@dataclass
class Sample:
    """What a format sees of an input before it says how sure it is: one of `text` and `binary` is empty."""

    opened: Opened
    head: bytes
    is_text: bool

    @property
    def text(self) -> bytes:
        """The first bytes of a text."""
        return self.head if self.is_text else b""

    @property
    def binary(self) -> bytes:
        """The first bytes of what is no text."""
        return b"" if self.is_text else self.head

    def mentions(self, *words: bytes) -> bool:
        """Whether any of these (ASCII) stands in the text; of a big one only its start, its end and places
        within are looked at.
        """
        return self.is_text and any(word in self._searched for word in words)

    @cached_property
    def _searched(self) -> bytes:
        searched = self.opened.all() if self.opened.size <= SMALL else self.opened.samples()
        encoding = texts.encoding_of(self.head)
        return searched if encoding == "utf-8-sig" else searched.decode(encoding, "replace").encode()


class ListedStep(NamedTuple):
    """A traced step as its file tells it; nothing known is a file that is one step as a whole."""

    tag: str | None = None
    number: int | None = None
    seconds: float | None = None
    """When it ran or was written, since 1970."""
