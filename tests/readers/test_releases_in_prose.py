"""A release that prose says works, where no name stands beside it."""

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.versions import Releases


def told(*lines: str) -> tuple[str, str] | None:
    releases = Releases()
    for number, text in enumerate(lines, 1):
        releases.read(Line(number, text))
    works = releases.value()
    return (works.package, works.release) if works else None


@pytest.mark.parametrize(
    "text",
    [
        "tensorflow 2.0.0, Linux, CPU. With 1.13 no problem.",
        "I have tf 2.1.0 now; under 1.13 there were no leaks",
        "tf 2.4.0 here, it trained fine with 1.13",
    ],
)
def test_a_release_without_a_name(text: str) -> None:
    assert told(text) == ("tensorflow", "1.13")


@pytest.mark.parametrize(
    "text",
    [
        "numpy 2.1 here. With 1.14 no problem.",
        "tf 2.4.0, and with 460.32 no problem",
        "tf 2.4.0, with 2.3.1 it is a problem",
    ],
)
def test_no_release_that_works(text: str) -> None:
    assert told(text) is None
