"""Releases compare by their numbers."""

import pytest

from tfmemlens.knowledge.releases import numbers_of


@pytest.mark.parametrize(
    ("release", "numbers"),
    [
        ("2.21", (2, 21)),
        ("0.4.30", (0, 4, 30)),
        ("0.4.30rc1", (0, 4, 30)),
        ("1.15.0.post2", (1, 15, 0)),
        ("", ()),
    ],
)
def test_the_numbers_of_a_release(release: str, numbers: tuple[int, ...]) -> None:
    assert numbers_of(release) == numbers


def test_which_came_first() -> None:
    assert numbers_of("0.4.9") < numbers_of("0.4.10") < numbers_of("0.10")
