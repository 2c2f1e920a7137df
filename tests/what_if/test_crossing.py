"""The largest batch that a limit serves, where each question is dear."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.what_if.test_failed_step import known
from tfmemlens.model.timeline import NeededLimit, ServingLimits
from tfmemlens.values import replace
from tfmemlens.what_if.largest_batch import FitBasis, _likely_batches, crossing, largest_batch

LIMIT = 1_000_000


def asked(needs: Callable[[int], int], guess: int) -> tuple[int, int]:
    """The answer, and how often was asked."""
    seen: list[int] = []

    def counted(batch: int) -> int:
        seen.append(batch)
        return needs(batch)

    return crossing(counted, LIMIT, guess), len(seen)


@pytest.mark.parametrize("guess", [1, 20, 88, 90, 400])
def test_a_straight_line_is_found_from_anywhere_in_few_questions(guess: int) -> None:
    found, questions = asked(lambda batch: 100_000 + 10_000 * batch, guess)
    assert found == 90
    assert questions <= 10


def test_beyond_two_hundred_half_a_per_cent_is_near_enough() -> None:
    found, questions = asked(lambda batch: 5_000 + 100 * batch, 4_000)
    assert 9_900 <= found <= 9_950
    assert questions <= 12


@pytest.mark.parametrize(("edge", "found"), [(37, 36), (2, 1), (1, 0)])
def test_an_edge_is_found_exactly(edge: int, found: int) -> None:
    """A pool's regions double, so that one sample more may need half as much again."""
    assert asked(lambda batch: 600_000 + batch if batch < edge else 1_600_000 + batch, 30)[0] == found


def test_what_never_reaches_the_limit_ends() -> None:
    assert asked(lambda batch: 1, 1)[0] >= 1 << 24


def predicted(limit: int = 12_000, largest: int | None = None) -> FitBasis:
    """A step that needs 1,000 bytes a sample, 20 % more or 10 % less at the ends of its bar; `largest`: the
    very limit was tried, and serves so many samples.
    """

    def again(batch: int) -> FitBasis:
        served = None if largest is None else batch <= largest
        serving = ServingLimits(900 * batch, 1000 * batch, 1200 * batch, served)
        needed = NeededLimit(1000 * batch, 2000 * batch, serving)
        step = known().step
        return replace(known(), step=replace(step, timeline=replace(step.timeline, needed_limit=needed)))

    return replace(again(8), repredict=again, limit_bytes=limit)


def test_the_largest_batch_is_the_last_whose_calls_are_served() -> None:
    assert largest_batch(predicted().step, predicted()) == 12
    assert largest_batch(predicted(999).step, predicted(999)) == 0


@pytest.mark.parametrize("largest", [5, 11, 12, 13, 20])
def test_the_very_limit_decides_where_it_was_tried(largest: int) -> None:
    basis = predicted(largest=largest)
    assert largest_batch(basis.step, basis) == largest


def test_the_range_holds_the_calls_at_both_ends_of_the_bar() -> None:
    assert _likely_batches(predicted(), 12) == (10, 13)


def test_it_is_not_told_of_a_step_that_was_measured() -> None:
    assert _likely_batches(replace(predicted(), repredict=None), 12) == (None, None)
    assert _likely_batches(replace(predicted(), limit_bytes=None), 12) == (None, None)
    assert _likely_batches(known(), 12) == (None, None)
