"""How many weights the text says that the model has, and what they take: `Total params: 2,506,172,416`, `a 7B
model`, `gemma_2b_en`; else how many a model of that name is known to have.
"""

from __future__ import annotations

from tfmemlens.model.capture import WEIGHTS_BY_NAME, Surroundings
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import GIB, human
from tfmemlens.values import dataclass

_NAMES = frozenset({"parameters", "params", "weights", "param", "model"})
_LEAST = 50_000_000
"""A smaller number behind such a word may be anything."""
_BYTES = 4
_TIMES_OF_ADAM = 4
"""Weights, their gradient, and two moments."""


@dataclass(frozen=True, slots=True)
class StatedWeights:
    """A model's weights."""

    count: int
    exact: bool
    line: Line

    @property
    def bytes(self) -> int:
        """In float32."""
        return self.count * _BYTES

    @property
    def trained_bytes(self) -> int:
        """With the gradient and Adam's two moments, all in float32."""
        return self.bytes * _TIMES_OF_ADAM

    @property
    def text(self) -> str:
        """`about 2.5 billion weights`."""
        if self.exact:
            return f"{self.count:,} weights"
        many = self.count / 10**9
        return (
            f"about {many:.3g} billion weights" if many >= 1 else f"about {many * 1000:.3g} million weights"
        )

    @property
    def needs(self) -> str:
        """What they take, in a clause."""
        return (
            f"the model has {self.text}, {human(self.bytes)} in float32; to train all of them with Adam takes"
            f" {human(self.trained_bytes)}, whatever the batch"
        )


def weights_of_the_failed(case: Case, moment: Moment) -> StatedWeights | None:
    """The same of the model that failed: where the text tells of several failures, the one that it names
    last before this one.
    """
    failed = moment.request.failed if moment.request and len(case.moments) > 1 else None
    return stated_weights(case.capture.surroundings, failed.line if failed else None)


def stated_weights(told: Surroundings, failed: Line | None = None) -> StatedWeights | None:
    """The largest number of weights that the text states; None where it states none. Of several models the
    one nearest above the line that failed, where that is given.
    """
    stated = [
        StatedWeights(each.sizes[0], False, each.line)
        for each in told.sizes
        if len(each.sizes) == 1 and each.name.lower() in _NAMES and each.sizes[0] >= _LEAST
    ]
    if told.parameters and told.parameters[0] >= _LEAST:
        return StatedWeights(told.parameters[0], True, told.parameters[1])
    known = [
        StatedWeights(each.sizes[0], False, each.line)
        for each in told.sizes
        if each.name == WEIGHTS_BY_NAME and each.sizes[0] >= _LEAST
    ]
    above = [each for each in stated or known if failed and each.line.number <= failed.number]
    if above:
        return max(above, key=lambda each: (each.line.number, each.count))
    return max(stated or known, key=lambda each: each.count, default=None)


_OF_A_MATRIX = regex(
    r"(?i)\b(?:matri(?:x|ces)|dense|fully[- ]connected|linear|weights?|coupling|connectivity|adjacency)\b"
)
_LEARNT = regex(
    r"(?i)\b(?:learn(?:s|ed|t|ing|able)?|train(?:s|ed|ing|able)?|fit(?:s|ted|ting)?|optimi[sz]\w{1,4}"
    r"|parameters?)\b"
)
STATED_MATRIX = "a stated matrix"
"""The name of the fact."""
_LEAST_SIDE = 1024
_NEAR = 60
"""Letters between a matrix's sizes and the words that say what it is."""


@dataclass(frozen=True, slots=True)
class StatedMatrix:
    """A dense matrix of weights by the words of a text: `I learn the 20,000 x 20,000 coupling`."""

    sides: tuple[int, int]
    learnt: bool
    line: Line

    @property
    def bytes(self) -> int:
        """In float32."""
        return self.sides[0] * self.sides[1] * _BYTES

    @property
    def needed_bytes(self) -> int:
        """In float32; of one that is learnt, with its gradient and Adam's two moments."""
        return self.bytes * (_TIMES_OF_ADAM if self.learnt else 1)

    @property
    def needs(self) -> str:
        """What it takes, in a clause."""
        rows, columns = self.sides
        learnt = (
            f", with its gradient and Adam's two moments {human(self.needed_bytes)}" if self.learnt else ""
        )
        return (
            f"the matrix of {rows:,} x {columns:,} that the text states ({self.line.place}): it takes"
            f" {human(self.bytes)} in float32{learnt}, whatever the batch and the steps"
        )


def stated_matrix(told: Surroundings) -> StatedMatrix | None:
    """The largest matrix of a GiB or more that words near its sizes call one; None where there is none."""
    found = []
    for each in told.sizes:
        if len(each.sizes) != 2 or min(each.sizes) < _LEAST_SIDE:
            continue
        rows, columns = each.sizes
        written = regex(rf"{_digits(rows)} ?(?:x|\u00d7|\*) ?{_digits(columns)}").search(each.line.text)
        if written is None or rows * columns * _BYTES < GIB:
            continue
        around = each.line.text[max(written.start() - _NEAR, 0) : written.end() + _NEAR]
        if _OF_A_MATRIX.search(around):
            found.append(StatedMatrix((rows, columns), bool(_LEARNT.search(around)), each.line))
    return max(found, key=lambda matrix: matrix.bytes, default=None)


def _digits(number: int) -> str:
    """The number as a pattern, with commas or without."""
    return f"(?:{number}|{number:,})"
