"""Memory that is free, told at several times; and `in between`, which repeats nothing by itself."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained
from tfmemlens.model.capture import Surroundings

_TITLE = "# OOM in the middle of a GPU training\n"
_FALLS = "First 5000 MB are free, after 40 epochs 2100 MB are free, after 80 epochs 600 MB are free."


def _told(text: str) -> Surroundings:
    return explained(_TITLE + text + "\n").case.capture.surroundings


@pytest.mark.parametrize(
    ("text", "grows"),
    [
        (_FALLS, True),
        (_FALLS.replace("600 MB are", "0.6 GB is"), True),
        (_FALLS.replace("600", "2600"), False),
        (_FALLS.replace("2100", "4900").replace("600", "4800"), False),
        (_FALLS.replace("epochs", "lines"), False),
        (_FALLS.replace("5000 MB are free", "it starts"), False),
    ],
)
def test_less_free_memory_each_time_is_growth(text: str, grows: bool) -> None:
    assert (_told(text).shows("growing in words") is not None) is grows


def test_what_is_watched_is_the_memory_that_the_text_names() -> None:
    code = "```\nmodel.fit(x, y, epochs=200)\n```\n"
    watches = explained(_TITLE + _FALLS + "\n" + code).actions[0].remedy.text
    assert watches.startswith("print the memory in use")
    text = "# RAM grows after each epoch\n" + code
    assert explained(text).actions[0].remedy.text.startswith("print the RAM of the process")


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("In between the predictions are written to a file.", False),
        ("In between the predictions memory stays.", True),
        ("Between predictions it is not given back.", True),
    ],
)
def test_in_between_alone_repeats_nothing(text: str, again: bool) -> None:
    assert (_told(text).shows("again at each prediction") is not None) is again
