"""The stacked curve: its columns keep the peak, and its groups add up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import row, timeline
from tests.conftest import SAMPLES
from tfmemlens import pipeline
from tfmemlens.attribution.moments.stacked_curve import BASELINE, OTHERS, stacked

TRACES = sorted((SAMPLES / "run_metadata").glob("*-lenet.pb*"))
LIVES = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=12
)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name[:4])
@pytest.mark.parametrize("key", ["kind", "layer"])
@pytest.mark.parametrize("columns", [1, 7, 600])
def test_no_peak_is_lost(path: Path, key: str, columns: int) -> None:
    found, *_ = pipeline.timelines(path).timelines
    series = stacked(found, key, columns, top=3)
    assert all(len(sizes) == columns for sizes in series.bytes_by_group.values())
    assert max(map(sum, zip(*series.bytes_by_group.values(), strict=True))) == found.peak_bytes
    assert set(series.bytes_by_group[BASELINE]) == {found.baseline_bytes}
    assert len(series.bytes_by_group) <= 5
    assert OTHERS not in series.bytes_by_group or any(series.bytes_by_group[OTHERS])


@given(LIVES)
def test_a_column_is_the_highest_instant_within_it(lives: list[tuple[int, int, int]]) -> None:
    """Against a look at every instant: sizes in MiB, births and lives in milliseconds."""
    found = timeline(
        *(row(f"n{index}", size, start, start + life) for index, (size, start, life) in enumerate(lives))
    )
    begin, end = min(start for _, start, _ in lives), max(start + life for _, start, life in lives)
    series = stacked(found, "layer", end - begin)
    totals = [sum(column) >> 20 for column in zip(*series.bytes_by_group.values(), strict=True)]
    for column, total in enumerate(totals[:-1]):
        alive = sum(size for size, start, life in lives if start <= begin + column < start + life)
        assert total >= alive
    assert max(totals) == found.peak_bytes >> 20
