"""What a sample adds, in the sentence of `fit`: figures of the table below it, which agree."""

from __future__ import annotations

import pytest

from tfmemlens.model.fit import BatchPrediction, Fit
from tfmemlens.units import MIB
from tfmemlens.use_cases.fit import _growth


@pytest.mark.parametrize(
    ("batch", "reported", "peaks", "said"),
    [
        (4, 7, {4: 250, 7: 400}, "about 50.0 MiB more for each further sample"),
        (2, 1, {1: 200, 2: 415}, "about 215 MiB less for each sample fewer"),
        (4, 4, {4: 250}, "about 43.00 MiB per sample"),
        (4, 7, {4: 250}, "about 43.00 MiB per sample"),
        (4, 7, {4: 250, 7: 250}, "about 43.00 MiB per sample"),
    ],
)
def test_what_a_sample_adds(batch: int, reported: int, peaks: dict[int, int], said: str) -> None:
    told = tuple(BatchPrediction(each, size * MIB, 0, 0) for each, size in peaks.items())
    fitted = Fit(batch, "--batch", 250 * MIB, reported, 70 * MIB, 43 * MIB, predictions=told)
    assert _growth(fitted, True) == said
    assert _growth(fitted, False) == said.replace("about", "up to")
