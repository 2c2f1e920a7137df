"""What limit an allocator needs to run a predicted step, from the calls that the step makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.knowledge.bfc import FIRST_REGION_BYTES, Call, serves, smallest_limit
from tfmemlens.model.timeline import NeededLimit, ServingLimits
from tfmemlens.units import round_up
from tfmemlens.values import replace

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
_LEAST_PART = 0.05
"""No bar is so wide that less of the requests is left at its lower end."""
_MAX_TRIED_CALLS = 400_000
"""Of all trials together: the first come first."""


def needed_limit(
    pasts: Sequence[Sequence[Call]],
    peak_bytes: int,
    share: float,
    batch_bytes: int = 0,
    first_region_bytes: int = FIRST_REGION_BYTES,
    likely_share: float | None = None,
    in_turn: Sequence[Call] | None = None,
    limit_bytes: int | None = None,
) -> NeededLimit | None:
    """The smallest limit, to about a hundredth, under which an allocator serves the calls of the first steps,
    from the first weight on, and two further batches of `batch_bytes`. `pasts` holds these calls first as
    they are most likely, then as they are after other pasts of the allocator; `share` of the peak is the
    error bar.

    The upper end serves all of them, and the same with requests that are larger by parts of the bar. A
    pool's regions double in size, so a step that barely fits into 62 MiB of regions (2 + 4 + 8 + 16 + 32)
    needs 88 MiB once it grows by a tenth: the last region has to hold the next large tensor in one piece.
    Three of four steps that failed at the limit stated stood below such an edge (TensorFlow 2.11 and 2.21).

    `likely_share` is what the peak is mostly off by, without what a limit holds in reserve. `in_turn` holds
    the calls with one op at a time, where `pasts` has several at once: what serves the step goes by these,
    since an op that finds no room waits for the others to end. `limit_bytes` is the limit that is asked
    about.

    Neither end is below the peak; what serves the step may be: a pool under pressure leaves fewer chunks
    larger than asked. None for too many calls to try.
    """
    likely, waiting = pasts[0], in_turn or pasts[0]
    if len(likely) > MAX_CALLS:
        return None
    within = peak_bytes // 100
    usual = share if likely_share is None else likely_share
    serving = _serving(waiting, peak_bytes, usual, first_region_bytes)
    if limit_bytes is not None:
        serving = replace(serving, served=serves(waiting, limit_bytes, first_region_bytes))
    served = smallest_limit(likely, peak_bytes, within, first_region_bytes)
    high = max(served, round(peak_bytes * (1 + share)))
    trials = [(likely, share * part) for part in _PARTS]
    trials += [(calls, share * part) for calls in pasts[1:] for part in (0.0, 0.5)]
    left = _MAX_TRIED_CALLS
    for calls, more in trials:
        left -= len(calls)
        if left < 0:
            break
        larger = _enlarged(calls, 1 + more)
        if not serves(larger, high, first_region_bytes):
            high = smallest_limit(larger, high, within, first_region_bytes)
    ahead = FETCHED_BATCHES * batch_bytes
    return NeededLimit(served + ahead, high + ahead, serving)


def _serving(calls: Sequence[Call], peak_bytes: int, share: float, first_region_bytes: int) -> ServingLimits:
    """To a hundredth: what serves the calls, and the same with smaller and with larger requests."""
    least, most = max(1 - share, _LEAST_PART), 1 + share
    low, middle, high = (
        smallest_limit(larger, requested_peak(larger), peak_bytes // 100, first_region_bytes)
        for larger in (_enlarged(calls, times) for times in (least, 1.0, most))
    )
    return ServingLimits(min(low, middle, peak_bytes), middle, max(middle, high))


def requested_peak(calls: Sequence[Call]) -> int:
    """The most bytes that are asked for at once, each request rounded as BFC does: no limit below it serves
    them.
    """
    held: dict[int, int] = {}
    live = most = 0
    for number, request in calls:
        live += round_up(request) if request else -held.pop(number)
        if request:
            held[number] = round_up(request)
        most = max(most, live)
    return most


def _enlarged(calls: Sequence[Call], times: float) -> Sequence[Call]:
    """The calls with so many times the bytes; what is given back stays 0."""
    if times == 1:
        return calls
    return [(number, max(round(request * times), 1) if request else 0) for number, request in calls]
