"""Two amounts of memory for two numbers of a thing tell of a size, and of no growth with time."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (
            "The RAM usage explodes: for 8 actors I need 30GB RAM, for 4 actors 16GB.",
            True,
        ),
        ("The RAM usage explodes: after 8 epochs I need 30GB RAM.", False),
        ("The RAM usage explodes: for 8 epochs I need 30GB RAM, for 4 epochs 16GB.", False),
    ],
)
def test_two_amounts_for_two_numbers_are_no_leak(text: str, size: bool) -> None:
    told = pipeline.explain(f"import jax\n{text}\n")
    assert ("grows with a size" in told.verdict) is size
