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


REFUSED = (
    "E tensorflow/stream_executor/cuda/cuda_driver.cc:936] failed to allocate 412.00M (432013312 bytes) from"
    " device: CUDA_ERROR_OUT_OF_MEMORY\n\n"
)


def test_the_batch_that_helped_comes_first_where_the_driver_refused() -> None:
    report = explained(f"# 训练就停了\n\n{REFUSED}减小了batch就可以了\n")
    slugs = [each.remedy.slug for each in report.actions]
    assert slugs[0] == "smaller-batch"
    assert "growth" not in slugs
    assert "is not in this text" not in report.verdict or "tells of an end" in report.verdict


def test_a_batch_that_did_not_help_is_no_cure() -> None:
    report = explained(f"# 训练就停了\n\n{REFUSED}减小了batch也不行\n")
    assert report.case.capture.surroundings.shows("a smaller batch helps") is None
