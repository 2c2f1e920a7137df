"""The limit that an allocator needs for a predicted step, where its regions double in size."""

from __future__ import annotations

import pytest

from tfmemlens.estimation.needed_limit import needed_limit, requested_peak
from tfmemlens.knowledge.bfc import Call, serves
from tfmemlens.units import MIB

FULL = (2.0, 4.0, 8.0, 16.0, 31.0)
"""In MiB: what fills a pool's first five regions, 62 MiB, nearly."""


def kept(*mebibytes: float) -> list[Call]:
    return [(number, round(size * MIB)) for number, size in enumerate(mebibytes)]


def needed(*pasts: list[Call], peak: int = 62 * MIB, share: float = 0.1, batch: int = 0) -> tuple[int, int]:
    found = needed_limit(pasts, peak, share, batch)
    assert found is not None
    return found.bytes, found.high_bytes


def bars_end(peak: int) -> int:
    """Of a bar of a tenth."""
    return round(peak * 1.1)


def test_a_step_that_barely_fits_its_regions_may_need_half_as_much_again() -> None:
    """The last region has to hold the largest tensor in one piece: 62 MiB and 32 more, not a tenth."""
    low, high = needed(kept(*FULL))
    assert low == 62 * MIB
    assert 94 * MIB <= high < 100 * MIB
    for share in (0.025, 0.05, 0.075, 0.1):
        assert serves([(number, round(size * (1 + share))) for number, size in kept(*FULL)], high)


@pytest.mark.parametrize("requests", [(1.5, 3.0, 6.0, 12.0, 25.0), (1.0, 1.0, 1.0)])
def test_near_miss_a_step_with_room_in_its_regions_needs_the_bar_alone(requests: tuple[float, ...]) -> None:
    peak = 62 * MIB if len(requests) > 3 else 4 * MIB
    assert needed(kept(*requests), peak=peak) == (peak, bars_end(peak))


def test_no_error_bar_no_reserve() -> None:
    assert needed(kept(*FULL), share=0.0) == (62 * MIB, 62 * MIB)


@pytest.mark.parametrize("share, margin", [(0.005, 0.005), (0.1, 0.01)])
def test_the_reserve_is_a_hundredth_and_no_wider_than_the_bar(share: float, margin: float) -> None:
    """On top of the first limit that serves the step, not of the bar's end."""
    asked = kept(*FULL)
    high = needed(asked, share=share)[1]
    larger = [(number, round(size * (1 + share / 2))) for number, size in asked]
    alone = [(number, round(size * (1 + share))) for number, size in asked]
    served = round(high / (1 + margin))
    assert serves(larger, served) and serves(alone, served)
    assert not serves(alone, round(served / 1.01))


def test_another_past_raises_the_upper_end_alone() -> None:
    """After other requests the same tensors meet other regions."""
    room = kept(1.5, 3.0, 6.0, 12.0, 25.0)
    other = kept(1.5, 3.0, 6.0, 12.0, 25.0, 12.0)
    low, high = needed(room, other)
    assert low == 62 * MIB
    assert high > bars_end(62 * MIB) == needed(room)[1]
    assert serves(other, round(high / 0.97))


def test_batches_fetched_ahead_come_on_top_of_both() -> None:
    without, having = needed(kept(1.0), peak=2 * MIB), needed(kept(1.0), peak=2 * MIB, batch=MIB)
    assert [more - less for less, more in zip(without, having, strict=True)] == [2 * MIB, 2 * MIB]


def test_what_serves_the_calls_alone_holds_no_reserve() -> None:
    """No batch that is fetched ahead, no other past; at both ends what the bar makes of the requests."""
    room, other = kept(1.5, 3.0, 6.0, 12.0, 25.0), kept(1.5, 3.0, 6.0, 12.0, 25.0, 12.0)
    found = needed_limit([room, other], 48 * MIB, 0.5, MIB, likely_share=0.1)
    assert found is not None and found.serving is not None
    low, middle, high = found.serving.low_bytes, found.serving.bytes, found.serving.high_bytes
    assert low < middle <= high < found.high_bytes
    assert serves(room, middle)
    assert serves([(number, round(1.1 * size)) for number, size in room], high)


def test_the_lower_end_is_never_above_the_peak() -> None:
    """Where nothing were lost to pieces the peak would do."""
    peak = round(92.5 * MIB)
    found = needed_limit([kept(*FULL, 31.5)], peak, 0.001)
    assert found is not None and found.serving is not None
    assert found.serving.low_bytes <= peak < found.serving.bytes


def test_a_bar_as_wide_as_the_step_leaves_requests_at_its_lower_end() -> None:
    found = needed_limit([kept(1.0, 2.0)], 3 * MIB, 1.0)
    assert found is not None and found.serving is not None and found.serving.low_bytes > 0


def test_what_serves_a_step_may_lie_below_its_peak() -> None:
    """3 MiB stand in a region of 4, whole: under a limit of 3 the region is no larger, and does."""
    found = needed_limit([kept(3.0)], 4 * MIB, 0.0)
    assert found is not None and found.serving is not None
    assert (found.bytes, found.high_bytes) == (4 * MIB, 4 * MIB)
    assert found.serving.low_bytes == found.serving.bytes == 3 * MIB


@pytest.mark.parametrize("limit, served", [(None, None), (3 * MIB - 256, False), (3 * MIB, True)])
def test_whether_the_very_limit_serves(limit: int | None, served: bool | None) -> None:
    found = needed_limit([kept(3.0)], 4 * MIB, 0.0, limit_bytes=limit)
    assert found is not None and found.serving is not None and found.serving.served is served


def test_all_ways_are_put_to_one_limit() -> None:
    """94 MiB serve what just fits 62; what needs a region of its own is served there as well, and no sum of
    what each of them needs alone is asked for.
    """
    other = [*kept(*FULL[:4]), (4, 12 * MIB)]
    low, high = needed(kept(*FULL), other)
    assert high == needed(kept(*FULL), kept(*FULL))[1]
    for calls in (kept(*FULL), other):
        assert serves([(number, round(size * 1.05)) for number, size in calls], round(high / 0.97))
    assert low == 62 * MIB


def with_buffer(size: float, calls_between: int = 0) -> list[Call]:
    """Eight tensors of a MiB that are kept, and one that is given back after so many small ones."""
    small = [(10 + number, 256) for number in range(calls_between)]
    return [*kept(*8 * [1.0]), (8, round(size * MIB)), *small, (8, 0)]


@pytest.mark.parametrize(
    "calls, one_by_one, times",
    [
        (with_buffer(2.0), True, 1.10),
        (with_buffer(2.0), False, 0.97),
        (with_buffer(1.2), True, 0.97),
        (with_buffer(2.0, calls_between=3), True, 1.10),
        (with_buffer(2.0, calls_between=4), True, 0.97),
    ],
)
def test_a_large_buffer_of_a_kernel_needs_more(calls: list[Call], one_by_one: bool, times: float) -> None:
    """Of 15 % of the peak and more, given back within four calls, on a single thread."""
    edge = kept(*FULL)
    peak = 10 * MIB
    found = needed_limit([calls, edge, edge], peak, 0.1, one_by_one=one_by_one)
    assert found is not None
    ways = [[(number, round(size * more)) for number, size in edge] for more in (1.0, 1.05)]
    stated = found.high_bytes / times
    assert all(serves(each, round(stated)) for each in ways)
    assert not all(serves(each, round(stated / 1.03)) for each in ways)


def test_no_less_than_what_serves_the_likely_past_is_stated() -> None:
    edge = kept(*FULL)
    found = needed_limit([edge, edge], 62 * MIB, 0.01)
    assert found is not None and found.serving is not None
    assert found.high_bytes >= found.serving.bytes


@pytest.mark.parametrize("bad, higher", [(1, False), (2, True)])
def test_most_of_five_pasts_decide(bad: int, higher: bool) -> None:
    """One that needs more than the others is left unserved in both its sizes, two are not."""
    room, edge = kept(1.5, 3.0, 6.0, 12.0, 25.0), kept(1.5, 3.0, 6.0, 12.0, 25.0, 12.0)
    pasts = [room] * (5 - bad) + [edge] * bad
    found = needed_limit(pasts, 62 * MIB, 0.1)
    assert found is not None
    assert (found.high_bytes > bars_end(62 * MIB)) is higher


def test_requests_are_larger_by_half_of_the_bar() -> None:
    """What fits as it is, and no longer with a twentieth more."""
    edge = kept(1.5, 3.0, 6.0, 12.0, 25.0, 6.1)
    assert serves(edge, bars_end(62 * MIB))
    assert not serves([(number, round(size * 1.05)) for number, size in edge], bars_end(62 * MIB))
    assert needed(edge, edge)[1] > bars_end(62 * MIB)


def test_requests_as_they_are_count_too() -> None:
    """2 MiB split the free 4, and 5 find no room; a little more leave it whole, and then they do."""
    calls = [(0, 4 * MIB), (0, 0), (1, 2 * MIB), (2, 5 * MIB)]
    assert serves([(number, round(size * 1.05)) for number, size in calls], bars_end(7 * MIB))
    assert not serves(calls, bars_end(7 * MIB))
    found = needed_limit([calls, calls], 7 * MIB, 0.1)
    assert found is not None and found.high_bytes > 1.15 * bars_end(7 * MIB)


def test_half_of_the_ways_decide_whether_the_limit_serves() -> None:
    small, large = kept(3.0), kept(5.0)
    for pasts, served in (([small, large], True), ([large, large, small], False)):
        found = needed_limit(pasts, 4 * MIB, 0.0, limit_bytes=4 * MIB)
        assert found is not None and found.serving is not None and found.serving.served is served


def test_many_calls_are_tried_in_fewer_ways_and_larger_steps() -> None:
    calls = [(number, 256) for number in range(50_000)]
    found = needed_limit([calls] * 5, 50_000 * 256, 0.1)
    assert found is not None and found.high_bytes >= round(50_000 * 256 * 1.1)


def test_the_most_that_is_asked_for_at_once() -> None:
    assert requested_peak([(0, 100), (1, 257), (0, 0), (2, 256)]) == 256 + 512
    assert requested_peak([(0, 100), (0, 0), (1, 1), (2, 1)]) == 512
    assert requested_peak([]) == 0
