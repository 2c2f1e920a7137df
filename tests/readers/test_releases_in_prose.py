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
        "Moved from TF 1.13 to 2.4.0. The same code trained fine for a month with 1.13.",
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


def test_the_release_that_a_program_moved_to() -> None:
    releases = Releases()
    releases.read(Line(1, "We upgraded TensorFlow 2.5.1 to 2.9.0 last week"))
    assert releases.era_after_a_move() == ((2, 9), (2, 9))
    releases = Releases()
    releases.read(Line(1, "I went from numpy 1.19.1 to 1.22.0"))
    assert releases.era_after_a_move() is None


@pytest.mark.parametrize(
    ("text", "mends"),
    [
        ("As of jaxlib 0.1.30, this is fixed.", True),
        ("Starting with tensorflow 2.9.1 that should be resolved", True),
        ("As of jaxlib 0.1.30, is this fixed?", False),
        ("As of jaxlib 0.1.30, this is still broken", False),
    ],
)
def test_the_release_that_mends_it(text: str, mends: bool) -> None:
    releases = Releases()
    releases.read(Line(1, text))
    works = releases.value()
    assert (works is not None and works.mends) is mends
