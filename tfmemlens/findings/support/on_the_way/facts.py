"""What is large on the way to something small."""

from __future__ import annotations

from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class OnTheWay:
    """A step of the program that makes something large, and the order that never makes it."""

    what: str
    """As a clause."""
    line: Line
    remedy: Remedy
    explains: int | None = None
    """Where it is more than the request and what is alike."""
    rules_out: tuple[str, ...] = ()
