"""A request as two stated numbers and a round one, and crashes that follow a warning."""

from __future__ import annotations

import pytest

from tests.findings.test_what_is_no_batch import explained

SITES = "I fit `biolith` to 1150 sites and {} days on a GPU of 4 GB\nimport jax\n"
MESSAGE = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes.\n"


def verdict(days: int, need: int) -> str:
    return explained(SITES.format(days) + MESSAGE.format(need)).verdict


def test_two_stated_numbers_and_a_round_one() -> None:
    said = verdict(701, 1150 * 701 * 1000 * 4)
    assert "1,150 (`sites`) x 701 (`days`), 1,000 times" in said and "most likely" in said


@pytest.mark.parametrize(
    ("days", "need"),
    [
        (701, 1150 * 701 * 1000 * 4 + 4),
        (701, 1150 * 701 * 700 * 4),  # no round number
        (64, 1150 * 64 * 10000 * 4),  # too small a number meets by chance
    ],
)
def test_by_chance_nothing_is_told(days: int, need: int) -> None:
    assert "times: to the byte" not in verdict(days, need)


WARNED = "W allocator.cc:124] Allocation of 655360000 exceeds 10% of system memory.\n"


@pytest.mark.parametrize(
    ("end", "open_"),
    [
        ("Process finished with exit code -1073740791 (0xC0000409)", True),
        ("Process finished with exit code 0", False),
    ],
)
def test_a_crash_behind_a_warning_is_told_and_left_open(end: str, open_: bool) -> None:
    said = explained(f"{WARNED}{end}\n").verdict
    assert ("the program ended" in said and "is open" in said) is open_
    assert said.startswith("No failure") is not open_
