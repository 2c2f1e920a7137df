"""How a text counts the turns that went well before one failed."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


def shown(text: str, name: str) -> bool:
    message = "RESOURCE_EXHAUSTED: Failed to allocate request for 15.41GiB"
    return pipeline.capture(f"My JAX program.\n{text}\n{message}\n").surroundings.shows(name) is not None


@pytest.mark.parametrize(
    "text",
    [
        "The run failed at round 26 with the message below.",
        "It dies in epoch 7 of 20.",
        "With this setting it crashes at step 1200.",
        "It stops in the middle of training with OOM.",
        "The federated run was killed during communication round 12.",
    ],
)
def test_a_turn_that_is_not_the_first_is_late(text: str) -> None:
    assert shown(text, "failing late")


@pytest.mark.parametrize(
    "text",
    [
        "The run failed at round 1 with the message below.",
        "It fails in epoch 1.",
        "It fails at step 3 of the tutorial.",
        "It crashes with a batch of 26.",
    ],
)
def test_the_first_turn_or_a_step_of_a_guide_is_not(text: str) -> None:
    assert not shown(text, "failing late")


@pytest.mark.parametrize(
    "text",
    [
        "It ran **60 off-grid q and then died**.",
        "It fails, the same allocation having succeeded sixty times.",
        "The tool processed 300 scans but then crashed.",
    ],
)
def test_turns_that_went_well_are_many_runs(text: str) -> None:
    assert shown(text, "many runs before")


@pytest.mark.parametrize(
    "text",
    [
        "I ran it three times and each time it died.",
        "It ran 2 epochs.",
        "I tried 60 configurations and each died.",
    ],
)
def test_tries_that_all_failed_are_none(text: str) -> None:
    assert not shown(text, "many runs before")
