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
        f"counted beside the step: arrays of {samples} samples given to `fit(x, y)`, which most often copies"
        " them whole, and two batches that it fetches ahead; the memory limit also holds what is lost where"
        " free memory lies in pieces and what making the weights takes"
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


_PARTS = (0.5, 0.0)
"""Parts of the error bar by which all requests are enlarged, after each past: the limit is no lower than the
bar's end as it is, which holds the doubt about their sizes; this is for what the pool makes of it.
"""
_PARTS_ALONE = (1.0, 0.75, 0.5, 0.25, 0.0)
"""The same where one past alone was thought through."""
_LIKELY_PARTS = (-0.5, -0.25, 0.0, 0.25, 0.5)
_UNSERVED, _UNSERVED_ALONE = 4, 10
"""Fewer than one of so many ways in which a step may go may be left unserved. Requests as they are predicted
count as much as larger ones: a pool that barely has no room for one may have it once all are larger.
"""
_MARGIN = 0.01
"""A part that is added to what serves the ways, no more than the error bar, for how the pool's past differs
from all that are tried.
"""
_FOR_A_BUFFER, _WITHOUT = 1.10, 0.97
"""Times what serves the ways, with and without a large buffer. Of 128 steps of 12 to 330 MiB (TensorFlow
1.15, 2.11 and 2.21) 42 of Keras ask for one on a single thread: six of these failed at what served the ways,
each of them ran at 1.06 times it. Five of the six were looked at: the buffer of a filter's gradient was asked
for while more was in use than predicted. Eleven others whose limit is well above the bar's end were tried
with less: all ran at 0.95 times it, ten at 0.9. With 1.045 and 0.925 some 7 % of 150 steps of four later sets
failed, at 1.19 times their peaks in the median; of eight of Keras all but one ran with a twentieth more, all
with a tenth. With 1.10 and 0.97 two further sets came to 1.27 times; with 1.075 and 0.945 two more to 1.15
times, and three of 21 of Keras failed.
"""
_BUFFER_SHARE, _BUFFER_CALLS = 0.15, 4
"""A large buffer is so much of the peak, and given back within so many calls: a kernel's own."""
_STEP, _COARSE_STEP = 0.008, 0.02
_COARSE_CALLS = 5_000
"""Limits are tried in steps of so large a share, in larger ones for so many calls."""
_LEAST_PART = 0.05
"""No bar is so wide that less of the requests is left at its lower end."""
_MAX_TRIED_CALLS = 400_000
"""Of all ways together: the first come first."""


def needed_limit(
    pasts: Sequence[Sequence[Call]],
    peak_bytes: int,
    share: float,
    batch_bytes: int = 0,
    first_region_bytes: int = FIRST_REGION_BYTES,
    likely_share: float | None = None,
    limit_bytes: int | None = None,
    one_by_one: bool = False,
) -> NeededLimit | None:
    """The smallest limit, to about a hundredth, under which an allocator serves the calls of the first steps,
    from the first weight on, and two further batches of `batch_bytes`. `pasts` holds these calls first as
    they are most likely, then as they are after other pasts of the allocator; `share` of the peak is the
    error bar.

    The upper end is no lower than the bar's, and serves most of the ways in which the step may go: each past
    with the requests as they are and larger by half of the bar; nearly all where one past alone is known. A
    pool's regions double in size, so a step that barely fits into 62 MiB of regions (2 + 4 + 8 + 16 + 32)
    needs 88 MiB once it grows by a tenth: the last region has to hold the next large tensor in one piece.
    Three of four steps that failed at the limit stated stood below such an edge (TensorFlow 2.11 and 2.21).
    All ways are put to one limit, since one that serves a step need not do so when it is larger.

    `pasts` are with one op at a time, on several threads, too: an op that finds no room waits up to ten
    seconds for the others to end (`allow_retry_on_failure` of BFCAllocator). The smallest limits that two
    real steps needed on two threads were 53 and 130 MiB; their calls one at a time need 53 and 127, those of
    several at once 87 and 166.

    `one_by_one`: the step runs in Keras, on a single thread, where large buffers of kernels need more. On
    several threads, and in a session of 1.15, none of 20 steps that ask for one failed.

    `likely_share` is what the peak is mostly off by, without what a limit holds in reserve. `limit_bytes` is
    the limit that is asked about: it serves the step when it serves half of the ways.

    Neither end is below the peak; what serves the step may be: a pool under pressure leaves fewer chunks
    larger than asked. None for too many calls to try.
    """
    likely = pasts[0]
    if len(likely) > MAX_CALLS:
        return None
    within = peak_bytes // 100
    usual = share if likely_share is None else likely_share
    serving = _serving(likely, peak_bytes, usual, first_region_bytes)
    if limit_bytes is not None:
        enough = _half_are_served(_ways(pasts, usual, _LIKELY_PARTS), limit_bytes, first_region_bytes)
        serving = replace(serving, served=enough)
    parts, unserved = (_PARTS, _UNSERVED) if len(pasts) > 1 else (_PARTS_ALONE, _UNSERVED_ALONE)
    ways = [_enlarged(calls, times) for calls, times in _ways(pasts, share, parts)]
    most_failed = (len(ways) - 1) // unserved
    margin = 1 + min(_MARGIN, share)
    bars_end = round(peak_bytes * (1 + share))
    served = _limit_for_most(ways, most_failed, int(bars_end / margin), first_region_bytes)
    low = smallest_limit(likely, peak_bytes, within, first_region_bytes)
    if one_by_one and _has_large_buffer(likely, peak_bytes):
        margin *= _FOR_A_BUFFER
    elif len(pasts) > 1:
        margin *= _WITHOUT
    high = max(round(served * margin), low, bars_end)
    ahead = FETCHED_BATCHES * batch_bytes
    return NeededLimit(low + ahead, high + ahead, serving)


def _has_large_buffer(calls: Sequence[Call], peak_bytes: int) -> bool:
    """Whether the step asks for much of its peak at once that it gives back right away."""
    asked: dict[int, tuple[int, int]] = {}
    for index, (number, request) in enumerate(calls):
        if request:
            asked[number] = index, request
            continue
        since, size = asked.pop(number)
        if index - since <= _BUFFER_CALLS and size >= _BUFFER_SHARE * peak_bytes:
            return True
    return False


def _ways(
    pasts: Sequence[Sequence[Call]], share: float, parts: Sequence[float]
) -> list[tuple[Sequence[Call], float]]:
    """In which a step may go: the calls after each past, and how many times as large by each part of the bar;
    as many as there is time for.
    """
    most = max(_MAX_TRIED_CALLS // max(len(pasts[0]), 1), 1)
    middle_first = sorted(parts, key=abs) if min(parts) < 0 else parts
    ways = [(calls, max(1 + share * part, _LEAST_PART)) for part in middle_first for calls in pasts]
    return ways[:most]


def _half_are_served(
    ways: Sequence[tuple[Sequence[Call], float]], limit_bytes: int, first_region_bytes: int
) -> bool:
    """Asked way by way, until half of them are served or so many failed that half cannot be."""
    served = failed = 0
    for calls, times in ways:
        if serves(_enlarged(calls, times), limit_bytes, first_region_bytes):
            served += 1
        else:
            failed += 1
        if 2 * served >= len(ways) or 2 * failed > len(ways):
            break
    return 2 * served >= len(ways)


def _limit_for_most(
    ways: Sequence[Sequence[Call]], most_failed: int, least_bytes: int, first_region_bytes: int
) -> int:
    """The first limit from `least_bytes` on that leaves no more than so many ways unserved. The ways that
    failed last are tried first.
    """
    step = _STEP if len(ways[0]) < _COARSE_CALLS else _COARSE_STEP
    left, limit = list(ways), least_bytes
    while True:
        failed = []
        for calls in left:
            if not serves(calls, limit, first_region_bytes):
                failed.append(calls)
                if len(failed) > most_failed:
                    break
        else:
            return limit
        left = failed + [calls for calls in left if not any(calls is each for each in failed)]
        limit = max(round(limit * (1 + step)), limit + 256)


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
