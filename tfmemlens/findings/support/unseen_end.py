"""An end that the text tells of and whose message it does not have, beside warnings that end no run."""

from __future__ import annotations

from typing import NamedTuple

from tfmemlens.findings.support.traceback_place import of_a_cut_traceback
from tfmemlens.model.capture import OWN_FRAME, Surroundings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line

WITH_ITS_END = Remedy(
    "run it as a script in a terminal and add what it prints last: what is quoted here ends before anything"
    " went wrong",
    "python -X faulthandler train.py > train.log 2>&1; echo $?",
    slug="read-the-log",
)
_LAST_LINES = Remedy(
    "add the last lines of the traceback: they name the error, of which nothing is here",
    "python train.py > train.log 2>&1; tail -n 40 train.log",
    slug="read-the-log",
)


class UnseenEnd(NamedTuple):
    """How the text tells of an end, where, and what would show its message."""

    words: str
    line: Line
    remedy: Remedy


def unseen_end(told: Surroundings) -> UnseenEnd | None:
    """A traceback that is cut before its last line, or words of an end; None where neither is, or where the
    error is here.
    """
    if told.raised is not None:
        return None
    own = told.shows(OWN_FRAME)
    if own and (cut := of_a_cut_traceback(told)):
        return UnseenEnd(cut.removeprefix("; "), own, _LAST_LINES)
    ended = told.shows("ended in words") or told.shows("killed in words")
    return UnseenEnd(f"{ended.place} says in words that it ended", ended, WITH_ITS_END) if ended else None
