"""Sections of a report that tell what should happen are no observations."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens import pipeline
from tfmemlens.readers.oom.hoped import HopedFor

OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[16,640,48,48] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def _hopes(*lines: str) -> list[bool]:
    section = HopedFor()
    return [section.holds(line, number) for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize(
    "head",
    [
        "### Expected Behavior",
        "**Describe the expected behavior**",
        "Describe the expected behavior",
        "Expected behaviour:",
        "## Desired outcome",
        "What did you expect to happen?",
    ],
)
def test_a_heading_of_hopes_holds_until_the_next(head: str) -> None:
    assert _hopes("It fails.", head, "Runs all 30 epochs.", "## Code", "ok") == [
        False, True, True, False, False,
    ]  # fmt: skip


def test_a_hope_in_the_line_of_its_heading() -> None:
    assert _hopes("Expected behavior: trains without OOM", "### Logs") == [True, False]


@pytest.mark.parametrize(
    "line",
    [
        "The expected behavior was seen with batch 4.",
        "Training goes as expected",
        "Expected behavior: it trains, but it fails at step 40",
    ],
)
def test_what_is_no_heading_or_turns_to_what_happens(line: str) -> None:
    assert _hopes(line) == [False]


def test_a_section_of_hopes_ends_by_itself() -> None:
    assert _hopes("Expected behavior", *["It runs."] * 30)[-1] is False


def test_asked_twice_of_a_line_it_counts_once() -> None:
    section = HopedFor()
    assert section.holds("## Expected behavior", 1) and section.holds("## Expected behavior", 1)


def test_trials_that_should_complete_did_not_go_well() -> None:
    text = (
        f"The search stops.\n{OOM}\n### Expected Behavior\nTraining to continue until 20 trials completed.\n"
    )
    assert "went well" not in explained(text).verdict


def test_trials_that_completed_did() -> None:
    text = f"The search stops.\n{OOM}\n### Current Behavior\nIt fails after 20 trials.\n"
    assert any(name == "many runs before" for name, _ in pipeline.capture(text).surroundings.purposes)


def test_what_should_run_is_no_way_that_works() -> None:
    text = (
        "## Description\nWith many images the out of memory killer ends the container, host RAM is gone.\n\n"
        "### Expected Behavior\nno oom\n\n### Environment\n"
    )
    assert pipeline.capture(text).surroundings.compared is None
