"""In which order Grappler's walk through a step of `fit` reaches the updates of the weights.

The walk takes the updates by their names as text, the last one first (`_9` before `_89`), but begins
somewhere in the list and goes on at its end: read from the order of the executor on one thread
(TF_CPP_VMODULE=executor=1) in 79 runs of 16 nets, TensorFlow 2.11 and 2.21. What an update needs is reached
with it: the gradient of its kernel, and those of the inputs of all layers behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from tfmemlens.estimation.keras_step.optimizers import Optimizer
from tfmemlens.values import dataclass

_FROM_THE_MIDDLE = {"sgd", "momentum", "rmsprop"}


@cache
def as_text(count: int) -> tuple[int, ...]:
    """The numbers of so many names, sorted as TensorFlow writes them: none, `_1`, `_10`, `_2`."""
    return tuple(sorted(range(count), key=lambda number: f"_{number}" if number else ""))


@dataclass(frozen=True, slots=True)
class UpdateOrder:
    """The update of the weight at a place has the name `_N`, N being `offset` more."""

    count: int
    offset: int = 0
    shared: int = 0
    """How many further names of the same kind there are, that need no gradient: they are the first."""
    start: tuple[float, float] = (1.0, 1.0)
    """Between which parts of the list the walk begins; beyond 1 at its end."""

    def kernels_first(self, order: Random) -> frozenset[int]:
        """Weights (by place) whose kernel's gradient is reached before that of their layer's input: nothing
        nearer to the inputs was reached before.
        """
        nearest, first = self.count, set()
        for place in self._walk(order.uniform(*self.start)):
            if place < nearest:
                nearest = place
                first.add(place)
        return frozenset(first)

    def _walk(self, part: float) -> Iterator[int]:
        names = as_text(self.shared + self.offset + self.count)
        at = min(int(part * len(names)), len(names) - 1)
        for name in (*names[at::-1], *names[:at:-1]):
            if name - self.shared - self.offset >= 0:
                yield name - self.shared - self.offset


def update_order(optimizer: Optimizer, keras_3: bool, count: int) -> UpdateOrder:
    """For a net of so many trainable weights. Keras 2 names the updates of two metrics before them; weights
    that decay have names before all updates.
    """
    if not keras_3:
        return UpdateOrder(count, offset=2)
    if optimizer.decays:
        return UpdateOrder(count, shared=count, start=(0.0, 1.0))
    if optimizer.name in _FROM_THE_MIDDLE:
        return UpdateOrder(count, start=(0.28, 0.48))
    return UpdateOrder(count, start=(0.0, 1.0) if optimizer.name == "adam" else (0.75, 1.25))
