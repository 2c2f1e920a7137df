"""The live curve: its peak, who is alive there, and ties."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import MIB, row, timeline
from tfmemlens.model.timeline import Timeline

LIVES = st.lists(
    st.tuples(st.integers(1, 50), st.integers(0, 30), st.one_of(st.none(), st.integers(1, 30))),
    min_size=1,
    max_size=30,
)


def made(lives: list[tuple[int, int, int | None]]) -> Timeline:
    return timeline(
        *(
            row(f"n{index}", size, start, None if length is None else start + length)
            for index, (size, start, length) in enumerate(lives)
        ),
        baseline_mib=3,
    )


def test_the_peak_stands_on_the_baseline() -> None:
    found = timeline(row("a", 4, 0, 3), row("b", 2, 1, 2), row("c", 5, 3, None), baseline_mib=10)
    assert found.peak_bytes == 19 * MIB  # at 3 ms `c` is born before `a` is gone: no peak may be missed
    assert found.peak_micros == 3000
    assert [found.table.node[alive] for alive in found.alive_after(found.peak_index)] == ["a", "c"]


def test_the_curve_is_searched_for_its_peak_once() -> None:
    searched = timeline(row("a", 4, 0, 3), row("b", 2, 1, 2))
    peak = searched.peak_bytes
    searched.__dict__["curve"] = [0, 0, 0]  # nobody looks through it again
    assert searched.peak_bytes == 0 != peak
    assert searched.peak_index == 1


def test_nothing_allocated_is_the_baseline() -> None:
    assert timeline(baseline_mib=2).peak_bytes == 2 * MIB
    assert timeline().peak_micros is None


@given(LIVES)
def test_the_peak_is_the_most_that_lives_at_any_instant(lives: list[tuple[int, int, int | None]]) -> None:
    found = made(lives)
    instants = {start for _, start, _ in lives}
    most = max(
        sum(
            size
            for size, start, length in lives
            if start <= now and (length is None or now <= start + length)
        )
        for now in instants
    )
    assert found.peak_bytes == (most + 3) * MIB
    assert sum(found.table.size_bytes[alive] for alive in found.alive_after(found.peak_index)) == most * MIB


@given(LIVES, st.floats(0, 70))
def test_the_curve_equals_the_living_at_any_time(
    lives: list[tuple[int, int, int | None]], millis: float
) -> None:
    found = made(lives)
    index = found.index_at(millis * 1000)
    alive = found.alive_after(index)
    assert (found.curve[index] if index >= 0 else found.baseline_bytes) == 3 * MIB + sum(
        found.table.size_bytes[each] for each in alive
    )
