"""What stood before a step, by hand: which figures each sample allows, and what a change of level costs."""

from __future__ import annotations

import pytest

from tests.builders import ALLOCATOR, DEVICE
from tfmemlens.model.allocation import Allocation, AllocationTable
from tfmemlens.model.timeline import Timeline
from tfmemlens.readers.timelines import baseline
from tfmemlens.readers.timelines.baseline import Baseline, UseChange, of_samples


def step(*rows: tuple[int, float, float | None]) -> Timeline:
    """A timeline of (bytes, start, end), in microseconds."""
    table = AllocationTable.of(
        [Allocation("n", size, start_micros=start, end_micros=end) for size, start, end in rows]
    )
    return Timeline(DEVICE, ALLOCATOR, table)


TWO = step((100, 10, 30), (50, 20, 40))
"""0 bytes before 10, then 100, 150, 50, and 0 from 40 on."""
KEPT = step((100, 0, None))
"""100 bytes for good, as a variable's new buffer."""


@pytest.mark.parametrize(
    "returned, ended, levels",
    [
        (0, 9, {1000}),
        (0, 10, {1000, 900}),
        (10, 19, {1000, 900}),
        (11, 19, {900}),
        (11, 20, {900, 850}),
        (20, 30, {900, 850, 950}),
        (41, 99, {1000}),
    ],
)
def test_a_sample_allows_every_figure_of_its_span(returned: float, ended: float, levels: set[int]) -> None:
    assert baseline._options(TWO, (returned, ended, 1000)) == levels


@pytest.mark.parametrize("events, told", [(64, True), (65, False)])
def test_a_sample_of_a_long_span_tells_nothing(events: int, told: bool) -> None:
    many = step(*((1, at, None) for at in range(events)))
    assert (of_samples(many, [(0, 99, 1000)]) is not None) is told


def test_a_sample_behind_many_events_tells() -> None:
    many = step(*((1, at, None) for at in range(70)))
    assert of_samples(many, [(80, 99, 1000)]) == Baseline(930, 1.0)


def test_without_samples_nothing_is_known() -> None:
    assert of_samples(TWO, []) is None


def test_of_as_many_votes_the_lower_figure_counts() -> None:
    assert of_samples(TWO, [(10, 19, 1000), (10, 12, 1000)]) == Baseline(900, 1.0)


def levels(*counts: tuple[int, int], kept: int | None = None) -> Baseline | None:
    """The baseline of so many samples of each level, one after the other, one each 10 us."""
    figures = [level for level, count in counts for _ in range(count)]
    samples = [(10.0 * at + 1, 10.0 * at + 2, figure) for at, figure in enumerate(figures)]
    timeline = step(*([(kept, 1e6, None)] if kept else []))
    return of_samples(timeline, samples[::-1])  # in any order


@pytest.mark.parametrize(
    "agreeing, others, changes",
    [(97, 3, ()), (96, 4, (UseChange(952, 961, -100),)), (4, 96, (UseChange(32, 41, -100),))],
)
def test_three_of_a_hundred_may_disagree(agreeing: int, others: int, changes: tuple[UseChange, ...]) -> None:
    share = 1.0 if changes else agreeing / 100
    assert levels((1000, agreeing), (900, others), kept=100) == Baseline(1000, share, changes)


@pytest.mark.parametrize(
    "before, after, kept, changed",
    [
        ((1000, 9), (900, 3), None, False),
        ((1000, 9), (900, 4), None, True),
        ((1000, 9), (900, 1), 100, True),  # the step keeps a buffer of just this size
        ((1000, 1), (900, 5), 100, True),
        ((1000, 9), (900, 1), 51, True),
        ((1000, 9), (900, 1), 50, False),
        ((1000, 9), (900, 1), 199, True),
        ((1000, 9), (900, 1), 200, False),
        ((900, 20), (1000, 12), 100, False),
        ((900, 20), (1000, 13), 100, True),
    ],
)
def test_a_change_needs_samples(
    before: tuple[int, int], after: tuple[int, int], kept: int | None, changed: bool
) -> None:
    found = levels(before, after, kept=kept)
    (low, first), (high, rest) = before, after
    change = UseChange(10 * (first - 1) + 2, 10 * first + 1, high - low)
    share = 1.0 if changed else first / (first + rest)
    assert found == Baseline(low, share, (change,) if changed else ())


def test_a_level_that_comes_back() -> None:
    found = levels((1000, 20), (900, 20), (1000, 20))
    assert found == Baseline(1000, 1.0, (UseChange(192, 201, -100), UseChange(392, 401, 100)))


@pytest.mark.parametrize("count, all_asked", [(3999, True), (4000, False), (8000, False)])
def test_of_many_samples_every_nth_is_asked(count: int, all_asked: bool) -> None:
    """Every second sample says otherwise: of 4000 only the first of each two is heard, of 8000 of each
    three.
    """
    samples = [(at, at, 1000 + at % 2) for at in range(count)]
    found = of_samples(step(), samples)
    assert found is not None
    assert found.size_bytes == 1000
    assert found.share == pytest.approx(1.0 if count == 4000 else 0.5, abs=0.001)


class TestLevels:
    """Twelve with most votes; then what replacing variables of 10 bytes (6 to 19 in chunks) leads to."""

    TOPS = tuple(10_000 * number for number in range(12, 0, -1))

    def of(self, *below: int, tops: tuple[int, ...] = TOPS) -> list[int]:
        votes = baseline.Counter({level: 1000 - at for at, level in enumerate((*tops, *below))})
        return baseline._levels(votes, [10])

    def test_those_with_most_votes(self) -> None:
        assert self.of(1) == [*self.TOPS]

    def test_those_that_a_replacement_leads_to_two_of_each(self) -> None:
        assert self.of(9990, 9985, 9986) == [*self.TOPS, 9990, 9985]
        assert self.of(9990, 9980) == [*self.TOPS, 9990, 9980]
        assert self.of(9980) == [*self.TOPS]

    def test_no_more_than_twice_as_many(self) -> None:
        chain = [10_000 - 10 * number for number in range(1, 30)]
        assert self.of(*chain) == [*self.TOPS, *chain[:12]]
