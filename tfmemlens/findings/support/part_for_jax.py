"""The part of a GPU that JAX's pool may take, where the text states it: read in this place alone.

XLA_PYTHON_CLIENT_MEM_FRACTION is a share of the GPU up to 1. Above 1 it is a number of times the GPU, which
unified memory alone has a use for, and is never said in per cent.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tfmemlens.model.capture import Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

VARIABLE = "XLA_PYTHON_CLIENT_MEM_FRACTION"
LARGER_POOL = Remedy(
    "JAX takes 75 % of the GPU at start (older versions 90 %): a larger part may be enough, if"
    " nothing else needs the rest",
    "export XLA_PYTHON_CLIENT_MEM_FRACTION=.95",
    slug="larger-pool",
)
USUAL = 0.75
"""What JAX takes unless it is told otherwise; releases before 2023 took 90 %."""
_IN_VAIN = "a part for JAX in vain"
_STARTS = regex(r"\A[$\s]*(?:\w+=\S+ )*(?:python3?|uv run|srun|torchrun) ")
_NUMBER = regex(r"\A(?:\d{1,4}(?:\.\d{0,6})?|\.\d{1,6})\Z")


class Part(NamedTuple):
    """What one line states."""

    value: float
    written: str
    """As the text has it: `.95`."""
    line: Line

    @property
    def above_all(self) -> bool:
        """Whether it is more than the GPU has."""
        return self.value > 1

    @property
    def words(self) -> str:
        """`95 % of the GPU`; `4 times the GPU`, where it is more than that."""
        if self.above_all:
            return f"{self.value:g} times the GPU"
        return f"{round(100 * self.value)} % of the GPU"


def every(told: Surroundings) -> Iterator[Part]:
    """All that the text states, in its order; not a part below the usual that its writer tried against a
    failure that was there before.
    """
    for name, value, line in told.settings:
        if name != VARIABLE or not _NUMBER.match(value) or float(value) <= 0:
            continue
        if float(value) >= USUAL or line != told.shows(_IN_VAIN):
            yield Part(float(value), value, line)


def stated(told: Surroundings) -> Part | None:
    """The last of them; None where there is none."""
    return next(reversed(tuple(every(told))), None)


def of_several_programs(told: Surroundings) -> tuple[Part, ...]:
    """Different parts of one text, each above the command that starts its own program; none where one program
    may have been given one after another.
    """
    parts = tuple(every(told))
    lines = [*told.code, *(line for _, _, line in told.settings)]
    starts = [line.number for line in lines if _STARTS.search(line.text)]
    between = all(
        any(one.line.number <= number < other.line.number for number in starts)
        for one, other in pairwise(parts)
    )
    shell = all(line.text.lstrip("$ ").startswith("export ") for _, _, line in parts)
    differ = len({part.value for part in parts}) == len(parts) > 1
    return parts if differ and between and shell else ()


def below(part: Part | None) -> str:
    """A smaller part than the one that holds now, as it is written in a shell."""
    now = part.value if part else USUAL
    smaller = 0.7 if now > USUAL or part is None else max(now - 0.1, 0.1)
    return f"{smaller:.2f}".lstrip("0")
