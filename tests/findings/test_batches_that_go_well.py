"""A batch that the text says runs is not the one that failed."""

from __future__ import annotations

from tests.findings.pages import explained
from tests.findings.test_what_other_programs_can_do import FULL

SAID = "I train a classifier with batch_size of 20, all fine.\n\n"


def first(text: str) -> str:
    report = explained(text)
    return next(each.text for found in report.findings for each in found.remedies)


def test_the_batch_that_runs_is_advised_and_not_halved() -> None:
    told = (
        f"{SAID}But when I raised the batch_size to 40, I got an OOM error. With batch_size 20 it works.\n\n"
    )
    text = first(told + FULL)
    assert "take the batch of 20 that works" in text
    assert "-> 10" not in text


def test_a_stated_batch_that_nothing_says_runs_is_halved() -> None:
    assert "20 -> 10" in first(f"I train a classifier with batch_size of 20.\n\n{FULL}")


def test_a_wish_to_change_the_batch_names_none_that_failed() -> None:
    told = "When I set the batch size to 40 there is no error, so memory is fine.\n"
    settings = explained(told + FULL).case.capture.surroundings.settings
    assert not [value for name, value, _ in settings if name == "failed_batch"]


def test_the_failed_batch_is_read_from_the_change_that_failed() -> None:
    told = "As soon as we increase batch_size from 8 to 16 it crashes.\n"
    settings = explained(told + FULL).case.capture.surroundings.settings
    assert [value for name, value, _ in settings if name == "failed_batch"] == ["16"]
