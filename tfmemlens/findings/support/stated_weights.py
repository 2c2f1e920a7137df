"""How many weights the text says that the model has, and what they take: `Total params: 2,506,172,416`, `a 7B
model`, `gemma_2b_en`; else how many a model of that name is known to have.
"""

from __future__ import annotations

from tfmemlens.model.capture import WEIGHTS_BY_NAME, Surroundings
from tfmemlens.model.line import Line
from tfmemlens.units import human
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


def stated_weights(told: Surroundings) -> StatedWeights | None:
    """The largest number of weights that the text states; None where it states none."""
    stated = [
        StatedWeights(each.sizes[0], False, each.line)
        for each in told.sizes
        if len(each.sizes) == 1 and each.name.lower() in _NAMES and each.sizes[0] >= _LEAST
    ]
    if told.parameters and told.parameters[0] >= _LEAST:
        return StatedWeights(told.parameters[0], True, told.parameters[1])
    known = (
        StatedWeights(each.sizes[0], False, each.line)
        for each in told.sizes
        if each.name == WEIGHTS_BY_NAME and each.sizes[0] >= _LEAST
    )
    return max(stated or known, key=lambda each: each.count, default=None)
