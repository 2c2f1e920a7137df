"""What an earlier release did is no failure of the run in question."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.knowledge.denials import without_earlier

_OTHER_ERROR = "ValueError: Shapes (32, 4) and (32, 5) are incompatible\n"


@pytest.mark.parametrize(
    "text",
    [
        "The beta had memory leaks. In the final release I get this:",
        "rc1 leaked memory, so I waited for 2.0.",
        "I got OOM in an older version, now fit raises another error.",
        "There were leaks in previous releases. Since I upgraded, fit fails:",
    ],
)
def test_what_went_before_is_left_out(text: str) -> None:
    assert "leak" not in without_earlier(text) and "OOM" not in without_earlier(text)
    told = explained(f"# fit fails\n{text}\n{_OTHER_ERROR}").case.capture.surroundings
    assert told.shows("growing in words") is None and told.shows("running short") is None


@pytest.mark.parametrize(
    "text",
    [
        "In the previous version memory was flat, it grows now.",
        "It leaked in older releases too, and does so now.",
        "I had memory leaks in 2.2.0rc2, what can I do now?",
        "rc1 leaked memory with every epoch.",
        "Unlike earlier versions, which had no trouble, the new one leaks.",
        "Memory grows now.",
    ],
)
def test_what_tells_of_this_run_stays(text: str) -> None:
    grows = {"leak": "leak", "grows": "grows"}
    kept = without_earlier(text)
    assert any(word in kept for word in grows)


def test_a_long_line_is_left_as_it_is() -> None:
    line = "rc1 leaked memory, so I waited. " * 60
    assert without_earlier(line) == line
