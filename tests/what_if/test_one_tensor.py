"""What a change takes off one tensor: the share of its dimensions, its absence from a step."""

from __future__ import annotations

import pytest

from tests.builders import MIB, row, timeline
from tfmemlens.model.finding import Certainty
from tfmemlens.model.what_if import Saving, SavingBasis, Shrunk
from tfmemlens.values import replace
from tfmemlens.what_if.one_tensor import of_tensor, without


@pytest.mark.parametrize(
    "tensor, saved",
    [
        (Shrunk("half", 1000), 500),
        (Shrunk("half", 1001), 500),
        (Shrunk("both-sides", 1600, axes=2), 1200),
        (Shrunk("three-sides", 1600, axes=3), 1400),
        (Shrunk("two-of-three", 900, 3, 2), 300),
        (Shrunk("two-of-three", 900, 3, 2, axes=2), 500),
        (Shrunk("all", 1000, 1, 0), 1000),
        (Shrunk("all", 1000, 1, 0, count=2), 2000),
        (Shrunk("half", 1001, count=2), 1000),
        (Shrunk("more", 1000, 2, 3), -500),
    ],
)
def test_what_is_left_of_a_side_is_left_of_the_tensor(tensor: Shrunk, saved: int) -> None:
    """In bytes, rounded down for each tensor; an exact figure is its own interval."""
    exact = Saving(tensor.change, SavingBasis.TENSOR, saved, saved, saved, Certainty.EXACT)
    assert of_tensor(tensor) == exact


def test_a_guess_has_no_interval() -> None:
    told = of_tensor(Shrunk("half", 1000, certainty=Certainty.ESTIMATE))
    assert told == Saving("half", SavingBasis.TENSOR, 500, certainty=Certainty.ESTIMATE)


def test_without_a_size_nothing_is_known() -> None:
    assert of_tensor(Shrunk("half", None)) == Saving("half")


def test_a_peak_without_one_allocation_may_lie_elsewhere() -> None:
    """20 MiB above the second highest moment are saved, though the allocation itself has 60."""
    kept, scratch, later = row("a/x", 100, 0, 9), row("b/y", 60, 1, 2), row("c/z", 40, 4, 5)
    step = timeline(kept, scratch, later)
    assert step.peak_bytes == 160 * MIB
    saved = 20 * MIB
    expected = Saving("smaller-temporary", SavingBasis.TIMELINE, saved, saved, saved, Certainty.EXACT)
    assert without(step, scratch, "smaller-temporary") == expected
    assert without(step, later, "smaller-temporary").best_bytes == 0


def test_only_what_began_with_it_goes() -> None:
    """The list of a peak has no row numbers: start and size tell which row is meant."""
    scratch, twin = row("b/y", 60, 1, 2), row("b/y", 60, 3, 4)
    step = timeline(row("a/x", 100, 0, 9), scratch, twin)
    assert without(step, scratch, "gone").best_bytes == 0
    other = replace(scratch, size_bytes=1)
    assert without(step, other, "gone").best_bytes == 0


def test_without_a_step_nothing_is_known() -> None:
    assert without(None, row("b/y", 60, 1, 2), "gone") == Saving("gone")
