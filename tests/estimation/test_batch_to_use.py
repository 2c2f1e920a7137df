"""What `fit` says to do: a batch to use now, the largest that fits, and above which one it fails."""

from __future__ import annotations

from typing import Any

import pytest

from tfmemlens.model.fit import PROVEN, Fit, TriedBatch, TriedBatches
from tfmemlens.recording import try_batches
from tfmemlens.units import MIB
from tfmemlens.use_cases.fit import _advice


def told(most: int, **more: Any) -> str:
    result = Fit(32, "--batch", 50 * MIB, most, 0, 0, 100 * MIB, most, **more)
    return _advice(result, 100 * MIB, most)


@pytest.mark.parametrize(
    ("most", "more", "text"),
    [
        (
            14,
            {"sure_batch": 6, "likely_low_batch": 10, "likely_high_batch": 26, "use_peak_bytes": 71 * MIB},
            "Use batch 6, which leaves 29 % of 100.00 MiB. About 14 samples fit, likely 10 to 26; "
            "above that it most likely fails",
        ),
        (
            20,
            {"sure_batch": 18, "use_peak_bytes": 88 * MIB},
            "Use batch 18, which leaves 12 % of 100.00 MiB. About 20 samples fit",
        ),
        (
            2,
            {"sure_batch": 0, "likely_low_batch": 0, "likely_high_batch": 7},
            "No batch is sure to fit into 100.00 MiB. About 2 may, likely 1 to 7; "
            "above that it most likely fails",
        ),
        (
            1,
            {"sure_batch": 1, "likely_low_batch": 1, "likely_high_batch": 1},
            "About 1 sample fits into 100.00 MiB",
        ),
        (518, {"sure_batch": 518}, "About 518 samples fit into 100.00 MiB"),
    ],
)
def test_the_batch_to_use_comes_first(most: int, more: dict[str, Any], text: str) -> None:
    assert told(most, **more) == text


@pytest.mark.parametrize(
    ("more", "use"),
    [
        ({"sure_batch": 62, "likely_low_batch": 100}, 62),
        ({"sure_batch": 0, "likely_low_batch": 100}, 0),
        ({}, None),
    ],
)
def test_it_is_the_sure_one(more: dict[str, Any], use: int | None) -> None:
    assert Fit(32, "--batch", 1, 32, 0, 0, **more).use_batch == use


def test_of_batches_that_ran_it_is_a_tenth_below_the_largest() -> None:
    tried = TriedBatches("2.21.0", MIB, 5, (TriedBatch(41, True), TriedBatch(42, False)), True)
    assert Fit(32, "--batch", 1, 32, 0, 0, sure_batch=41, likely_low_batch=41, tried=tried).use_batch == 36


def runs(*batches: tuple[int, bool]) -> TriedBatches:
    return TriedBatches("2.21.0", MIB, 5, tuple(TriedBatch(*each) for each in batches), True)


@pytest.mark.parametrize(
    ("tried", "largest", "failed", "gaps", "use"),
    [
        (runs((27, True), (28, False), *[(32, True)] * PROVEN, (33, False)), 32, 33, (28,), 27),
        (runs((27, True), (28, False), *[(40, True)] * PROVEN), 40, None, (28,), 27),
        (runs((39, True), (40, True), (40, False), *[(42, True)] * PROVEN), 42, None, (40,), 37),
        (runs((27, True), (28, False), *[(32, True)] * (PROVEN - 1)), 27, 28, (), 24),
        (runs((27, True), (28, False), *[(32, True)] * PROVEN, (32, False)), 27, 28, (), 24),
        (runs((28, False)), 0, 28, (), 0),
    ],
)
def test_a_batch_above_one_that_failed(
    tried: TriedBatches, largest: int, failed: int | None, gaps: tuple[int, ...], use: int
) -> None:
    """It counts in so many processes, and is not the one to use."""
    assert (tried.largest, tried.smallest_failed, tried.gaps) == (largest, failed, gaps)
    assert Fit(32, "--batch", 1, 32, 0, 0, tried=tried).use_batch == use


def test_the_search_and_its_reader_ask_for_as_many_processes() -> None:
    assert PROVEN == try_batches.TIMES
