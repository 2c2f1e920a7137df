"""Where a loop's iterations live: one frame for each run of a loop's body, the whole graph in the
outermost.
"""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.estimation.graph_step.tokens import Token
from tfmemlens.values import dataclass, field


@dataclass(slots=True)
class LoopFrame:
    """One run of a loop's body in one iteration of its parent: tokens that wait, nodes that wait for them."""

    name: str
    parent: LoopFrame | None = None
    parent_iteration: int = 0
    pending: dict[tuple[int, int], int] = field(default_factory=dict)
    waiting: dict[tuple[int, int], dict[int, Token]] = field(default_factory=dict)
    dead: dict[tuple[int, int], int] = field(default_factory=dict)
    constants: list[tuple[int, Token]] = field(default_factory=list)
    parallel: int = 10
    """`parallel_iterations`: a further iteration waits until an earlier one has nothing left to run."""
    entries: int = 0
    """Enter nodes that have not delivered yet."""
    reached: int = 0
    finished: int = 0
    """Iterations that are over."""
    running: dict[int, int] = field(default_factory=dict)
    """Nodes of an iteration that are ready and not done."""
    inner: dict[int, int] = field(default_factory=dict)
    """Loops inside an iteration that are not over."""
    held_back: list[tuple[int, Token]] = field(default_factory=list)
    over: bool = False

    def take(self, number: int, iteration: int) -> tuple[dict[int, Token], bool]:
        """What has come for a node that runs now, by input, and whether any of it is dead."""
        key = (iteration, number)
        self.pending.pop(key, None)
        return self.waiting.pop(key, {}), self.dead.pop(key, 0) != 0

    def is_dead(self, number: int, iteration: int) -> bool:
        """Whether a node runs only to pass on that it is not wanted."""
        return self.dead.get((iteration, number), 0) != 0

    def ready(self, number: int, iteration: int) -> Tagged:
        """A node that misses nothing more."""
        self.running[iteration] = self.running.get(iteration, 0) + 1
        return Tagged(number, self, iteration)

    def done(self, iteration: int) -> None:
        """A node of this iteration has run."""
        self.running[iteration] = self.running.get(iteration, 1) - 1

    def is_over(self, iteration: int) -> bool:
        """Whether this iteration is the next to end, and nothing in it can run any more."""
        if iteration != self.finished or self.running.get(iteration, 0) or self.inner.get(iteration, 0):
            return False
        return iteration > 0 or self.entries == 0


class Tagged(NamedTuple):
    """A node that is ready to run, in an iteration of a frame."""

    number: int
    frame: LoopFrame
    iteration: int
