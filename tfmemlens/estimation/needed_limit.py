"""What limit an allocator needs to run a predicted step, from the calls that the step makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.bfc import FIRST_REGION_BYTES, Call, serves, smallest_limit
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


_PARTS = (0.25, 0.5, 0.75, 1.0)
"""Parts of the error bar by which all requests are enlarged."""
_MAX_TRIED_CALLS = 400_000
"""Of all trials together: the first come first."""


def needed_limit(
    pasts: Sequence[Sequence[Call]],
    peak_bytes: int,
    share: float,
    batch_bytes: int = 0,
    first_region_bytes: int = FIRST_REGION_BYTES,
) -> NeededLimit | None:
    """The smallest limit, to about a hundredth, under which an allocator serves the calls of the first steps,
    from the first weight on, and two further batches of `batch_bytes`. `pasts` holds these calls first as
    they are most likely, then as they are after other pasts of the allocator; `share` of the peak is the
    error bar.

    The upper end serves all of them, and the same with requests that are larger by parts of the bar. A
    pool's regions double in size, so a step that barely fits into 62 MiB of regions (2 + 4 + 8 + 16 + 32)
    needs 88 MiB once it grows by a tenth: the last region has to hold the next large tensor in one piece.
    Three of four steps that failed at the limit stated stood below such an edge (TensorFlow 2.11 and 2.21).

    Neither end is below the peak. None for too many calls to try.
    """
    likely = pasts[0]
    if len(likely) > MAX_CALLS:
        return None
    within = peak_bytes // 100
    served = smallest_limit(likely, peak_bytes, within, first_region_bytes)
    high = max(served, round(peak_bytes * (1 + share)))
    trials = [(likely, share * part) for part in _PARTS]
    trials += [(calls, share * part) for calls in pasts[1:] for part in (0.0, 0.5)]
    left = _MAX_TRIED_CALLS
    for calls, more in trials:
        left -= len(calls)
        if left < 0:
            break
        larger = [(number, round(request * (1 + more))) for number, request in calls]
        if not serves(larger, high, first_region_bytes):
            high = smallest_limit(larger, high, within, first_region_bytes)
    ahead = FETCHED_BATCHES * batch_bytes
    return NeededLimit(served + ahead, high + ahead)
