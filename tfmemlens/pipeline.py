"""The whole flow on one screen: bytes, readers, Capture, attribution, Case, findings, Report."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike

from tfmemlens import attribution, findings, readers
from tfmemlens.model.capture import Capture, Hints
from tfmemlens.model.report import Report
from tfmemlens.readers import inputs

Input = str | PathLike[str]


def explain(source: Input | Iterable[Input], hints: Hints = Hints()) -> Report:
    """Read a path, several, or a pasted text, and explain it."""
    return report(capture(source, hints))


def capture(source: Input | Iterable[Input], hints: Hints = Hints()) -> Capture:
    """What the readers find in a path, several paths, or a text that is no path."""
    return readers.read(inputs.resolve(source), hints)


def report(found: Capture) -> Report:
    """The report on a capture, wherever it came from: a log, a trace, a prediction."""
    return findings.examine(attribution.attribute(found))
