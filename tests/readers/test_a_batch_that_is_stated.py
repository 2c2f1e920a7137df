"""`The batch size is already 8` answers how large it is, and not that a smaller one was tried."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

ASKED = (
    "It runs out of memory on my GPU.\n\nbob \u00b7 comment\n"
    "Can you try reducing the batch size?\n\nanna \u00b7 comment\n"
)


@pytest.mark.parametrize(
    ("answer", "in_vain", "batch"),
    [
        ("The batch size I use is already set to 8. But still the same error.", False, "8"),
        ("The batch size is just 16. Still the same error.", False, "16"),
        ("I did that. But still the same error.", True, None),
        ("I reduced the batch size to 2, but still the same error.", True, "2"),
    ],
)
def test_what_an_answer_says_of_the_batch(answer: str, in_vain: bool, batch: str | None) -> None:
    told = pipeline.explain(f"anna · description\n{ASKED}{answer}\n").case.capture.surroundings
    assert (told.shows("a smaller batch in vain") is not None) is in_vain
    assert batch is None or (told.setting("batch_size") or ("",))[0] == batch or in_vain
