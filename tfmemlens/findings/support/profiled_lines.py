"""The line of memory_profiler's tables that added most: for the rule that speaks of it, and those that leave
it to that rule.
"""

from __future__ import annotations

from tfmemlens.model.capture import ProfiledLine, Surroundings
from tfmemlens.units import MIB

_LEAST_BYTES = 100 * MIB
_MOST = 0.5
"""Of what all lines added: the part of a line that is worth a look."""


def added(told: Surroundings) -> int:
    """What all lines added."""
    return sum(row.more for row in told.profiled if row.more > 0)


def most(told: Surroundings) -> ProfiledLine | None:
    """The line that added much by itself, and at least half of it."""
    first = max(told.profiled, key=lambda row: row.more, default=None)
    return first if first and first.more >= max(_LEAST_BYTES, _MOST * added(told)) else None
