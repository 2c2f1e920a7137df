"""What limit an allocator needs to run a predicted step, from the calls that the step makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.bfc import FIRST_REGION_BYTES, Call, smallest_limit
from tfmemlens.model.timeline import NeededLimit

MAX_CALLS = 100_000
"""Beyond it a limit would take seconds to find: some 16,000 allocations a step."""
LIMIT_NOTE = (
    "the memory limit also holds what is lost where free memory lies in pieces, what making the weights"
    " takes, and two batches that `fit` fetches ahead; the arrays given to `fit(x, y)` are copied whole: add"
    " them"
)


def arrays_note(samples: int) -> str:
    """What is counted beside the step where somebody says how long the arrays are."""
    return (
        f"counted beside the step: arrays of {samples} samples given to `fit(x, y)`, which copies them whole,"
        " and two batches that it fetches ahead; the memory limit also holds what is lost where free memory"
        " lies in pieces and what making the weights takes"
    )


SESSION_LIMIT_NOTE = (
    "the memory limit also holds what is lost where free memory lies in pieces and what making the weights"
    " takes"
)
UNTRIED_LIMIT_NOTE = (
    "what limit an allocator needs was not worked out: with so many allocations it takes too long; it may be"
    " a half above the peak, since free memory lies in pieces"
)
FETCHED_BATCHES = 2
"""Beside the batch of the step: `fit` keeps one ready while the next is cut from the arrays."""


def needed_limit(
    calls: Sequence[Call],
    peak_bytes: int,
    share: float,
    batch_bytes: int = 0,
    first_region_bytes: int = FIRST_REGION_BYTES,
) -> NeededLimit | None:
    """The smallest limit, to about a hundredth, under which an allocator serves the calls of the first steps,
    from the first weight on, and two further batches of `batch_bytes`; its upper end with the error bar
    (`share` of the peak).

    It is never below the peak, and above it where regions end in pieces that are too small for what is asked
    then, or where weights are made. None for too many calls to try.
    """
    if len(calls) > MAX_CALLS:
        return None
    served = smallest_limit(calls, peak_bytes, peak_bytes // 100, first_region_bytes)
    ahead = FETCHED_BATCHES * batch_bytes
    return NeededLimit(served + ahead, round(served * (1 + share)) + ahead)
