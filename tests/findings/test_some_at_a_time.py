"""How many somebody found to go well at a time, where a call asks for too much at once."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

_FAILED = (
    "RuntimeError: Resource exhausted: Failed to allocate request for 61.50GiB (66035121152B) on device\n"
)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Encoding 250 rows at a time works.", "250 rows at a time go well"),
        ("With all it never ends, 2'500 rows at a time only takes seconds.", "2'500 rows at a time go well"),
        ("900 rows at once fails, 250 rows at a time works.", "250 rows at a time go well"),
        ("Encoding 250 rows at a time still fails.", None),
        ("Encoding 250 rows at once runs out of memory.", None),
        ("Encoding all rows at once works.", None),
        ("It asks for 250 rows at a time.", None),
    ],
)
def test_how_many_go_well(sentence: str, said: str | None) -> None:
    texts = [action.remedy.text for action in explained(f"{_FAILED}\n{sentence}\n").actions]
    told = [text for text in texts if "at a time go well" in text]
    assert bool(told) is (said is not None)
    assert said is None or said in told[0]
