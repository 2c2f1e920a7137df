"""How many samples the failing layer was called with, where that contradicts the batch that the text states
for another call.
"""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Request
from tfmemlens.model.incident import Argument
from tfmemlens.model.line import Line
from tfmemlens.model.tensor import format_shape
from tfmemlens.patterns import regex

_OF_MAPS = (4, 5)
"""Axes of images and volumes, of which the first is the batch in every layer of Keras."""
_SETS = regex(r"\b(?P<name>\w{0,40}(?:batch|chunk)\w{0,20})\s*=\s*(?P<number>[1-9]\d{1,6})\b(?!\s*[*/])")
_LEAST = 8
"""A smaller number divides any."""


class GivenAtOnce(NamedTuple):
    """The argument, and the setting of the program that most likely makes it so large."""

    argument: Argument
    stated: int
    knob: tuple[str, int, Line] | None

    @property
    def samples(self) -> int:
        """Samples of the call."""
        return self.argument.shape[0] or 0

    def in_words(self) -> str:
        """What to lower: the setting, else the samples of this call."""
        shape = format_shape(self.argument.shape)
        why = f"the failing layer was called with {self.samples:,} samples at once ({shape},"
        why = f"{why} {self.argument.line.place}), not with {self.stated:,}"
        if self.knob is None:
            return f"give this call fewer samples at a time: {why}"
        name, number, line = self.knob
        return f"lower `{name}` ({number} -> {max(number // _LEAST, 1)}, {line.place}): {why}"


def given_at_once(told: Surroundings, request: Request, stated: int | None) -> GivenAtOnce | None:
    """The argument that is no such batch, nor some of them: it has more samples."""
    for argument in request.failed.arguments:
        shape = argument.shape
        if stated and len(shape) in _OF_MAPS and (shape[0] or 0) > stated and (shape[0] or 0) % stated:
            return GivenAtOnce(argument, stated, _knob(told, shape[0] or 0, stated))
    return None


def _knob(told: Surroundings, count: int, stated: int) -> tuple[str, int, Line] | None:
    """A number of the program that is called a batch or a chunk, of which the samples are a multiple; None
    where several are.
    """
    found: dict[tuple[str, int], Line] = {}
    for line in code_lines(told):
        for match in _SETS.finditer(line.text):
            number = int(match["number"])
            if number != stated and _LEAST <= number <= count and count % number == 0:
                found.setdefault((match["name"], number), line)
    if len(found) != 1:
        return None
    (((name, number), line),) = found.items()
    return name, number, line
