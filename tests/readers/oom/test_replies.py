"""Settings in the comments of a thread: of a run, or another one's advice."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

_ASKS = "anna · description · 2024-03-01\nMy JAX program runs out of memory on an L40.\n\n"
_SETS = '`os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "3.0"`\n'


@pytest.mark.parametrize(
    ("comment", "is_set"),
    [
        (f"bert · comment · 2024-03-02\n{_SETS}Add this to your script.\n", False),
        (f"bert commented on Mar 2, 2024\nYou can set this:\n{_SETS}", False),
        (f"bert commented on Mar 2, 2024\nI have the same, did you set this? Mine:\n{_SETS}", True),
        (f"bert · comment · 2024-03-02\nSame problem here. I get around it with\n{_SETS}", False),
        (f"anna · comment · 2024-03-02\n{_SETS}Can you tell me what else to try?\n", True),
        (f"bert · comment · 2024-03-02\n{_SETS}", True),
    ],
    ids=[
        "advice",
        "advice before it",
        "a run of their own",
        "what helped another",
        "the first writer",
        "neither",
    ],
)
def test_advice_is_no_setting(comment: str, is_set: bool) -> None:
    told = pipeline.explain(_ASKS + comment).case.capture.surroundings
    assert (told.setting("XLA_PYTHON_CLIENT_MEM_FRACTION") is not None) is is_set


def test_what_stands_above_advice_is_set() -> None:
    below = (
        "bert · comment · 2024-03-02\nYou could try `batch_size=2`.\n\nanna · comment · 2024-03-02\nThanks\n"
    )
    told = pipeline.explain(f"{_ASKS}{_SETS}{below}").case.capture.surroundings
    assert told.setting("XLA_PYTHON_CLIENT_MEM_FRACTION") is not None


@pytest.mark.parametrize(
    ("sentence", "known"),
    [("For example if you have 32 GB GPU RAM, this takes 64.", False), ("I have a 32 GB GPU here.", True)],
)
def test_a_card_that_is_thought_of_is_nobodys(sentence: str, known: bool) -> None:
    told = pipeline.explain(f"JAX ran out of memory.\n{sentence}\n").case.capture.surroundings
    assert bool(told.named_devices) is known
