"""What a text says does not show the failure, and the releases below a heading of a form."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered
from tfmemlens.model.capture import NOT_THERE, Surroundings

_GROWS = "# Training leaks memory\nRAM grows with every epoch.\n"


def _told(text: str) -> Surroundings:
    return explained(_GROWS + text).case.capture.surroundings


def _not_there(text: str) -> bool:
    return any(name.startswith(NOT_THERE) for name, _ in _told(text).purposes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Plain SGD does not do this.\n", True),
        ("Other machines do not show the leak.\n", True),
        ("A run in Docker doesn't have this issue, strangely.\n", True),
        ("It does not do this.\n", False),
        ("My program does not do this by itself.\n", False),
        ("Does SGD not do this?\n", False),
        ("The layer does not have this many units.\n", False),
    ],
)
def test_what_does_not_show_it_is_told(text: str, says: bool) -> None:
    assert _not_there(text) is says


_FORM = "### TensorFlow version\n\n{}\n\n### Current behavior?\n\n{}\n"
_FINE = "TensorFlow 2.11.1 does not show it."


@pytest.mark.parametrize("filled_in", ["2.16.1 and 2.17", "tf 2.17.0", "v2.17", "2.17.0-rc1"])
def test_a_release_that_does_not_show_it_is_set_against_that_of_the_form(filled_in: str) -> None:
    works = _told(_FORM.format(filled_in, _FINE)).works_in
    assert works and (works.package, works.release) == ("tensorflow", "2.11.1")
    assert works.other and works.other.startswith("2.17")
    assert offered(_GROWS + _FORM.format(filled_in, _FINE))[0] == "release-that-works"


@pytest.mark.parametrize(
    ("filled_in", "text"),
    [
        ("2.11.1", _FINE),
        ("see below", _FINE),
        ("10 GB of 2.17", _FINE),
        ("2.17", "TensorFlow 2.11.1 does not show it in the list of devices."),
    ],
)
def test_without_two_releases_none_is_to_blame(filled_in: str, text: str) -> None:
    assert _told(_FORM.format(filled_in, text)).works_in is None
