"""What most likely grows, or fills memory, and what ends that."""

from __future__ import annotations

from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class Grower:
    """What most likely grows, and what ends that."""

    what: str
    line: Line
    remedies: tuple[Remedy, ...]
    sure: bool = False
    """Whether the code itself shows it, rather than words or a setting."""
    fact: str = ""
    """The fact of a table by which words tell it; empty where code, a setting or a figure does."""
