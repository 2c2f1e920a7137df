"""A traced step that can be read: where it is, and what it is called."""

from __future__ import annotations

from tfmemlens.values import dataclass


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step of a log directory. Several hosts' files of one profiler run are one step."""

    paths: tuple[str, ...]
    format: str
    tag: str | None = None
    """The tag it was written with, or the file's or the run folder's name."""
    step: int | None = None
    time: float | None = None
    """When it was written: seconds since 1970, from the file's content or the folder's name, else the file's
    own date.
    """
    inside: bool = False
    """Whether its file holds several, so that the tag and the step choose among them."""
