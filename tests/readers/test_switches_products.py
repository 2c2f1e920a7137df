"""A setting that code writes as a product is its value, and no more of it than is written in figures."""

from __future__ import annotations

import pytest

from tfmemlens.readers.oom import switches


@pytest.mark.parametrize(
    ("text", "batch"),
    [
        ("const batch = 6*8", "48"),
        ("batch_size = 4 * 2 * 2", "16"),
        ("batch_size=32", "32"),
        ("batch_size = 16 * replicas", "16"),
        ("with **batch_size=8** it fails", "8"),
    ],
)
def test_a_batch_that_is_written_as_a_product(text: str, batch: str) -> None:
    assert [value for name, value in switches.settings(text) if name == "batch_size"] == [batch]
