"""What a rise of host RAM goes with: each save of a checkpoint, each evaluation; and what helps there."""

from __future__ import annotations

import statistics
from itertools import pairwise
from typing import NamedTuple

from tfmemlens.findings.support.contrasted import END_EACH_SAVE, OF_SAVES, without
from tfmemlens.findings.support.situation import JAX, framework_of
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex
from tfmemlens.units import human

_LEAST_TIMES, _LEFT_OUT = 2, 2
_MOST_OF_IT, _LEAST_SHARE = 0.8, 0.02
"""Of all rises, those beside the events; and of the last figure, what one event leaves.
A rise of twice the largest of theirs, over a gap in the text (`...`), is of several that are left out.
"""


class RiseWith(NamedTuple):
    """Figures that rise where something is done, and not, or not to be told, without it."""

    event: str
    each: int
    """Bytes that stay of one, by the figures before two of them."""
    alone: bool
    """Whether figures without it in between stay as they are."""
    first: Line
    """Where it is done first."""
    apart: bool
    """Whether a figure stands between two of them, or a test of the writer's left it out; without either
    steps may leave it as well.
    """

    @property
    def words(self) -> str:
        """As a clause behind `;`."""
        if not self.apart:
            return (
                f"what is in use rises from one {_NAMES[self.event]} to the next ({self.first.place} is the"
                f" first), by about {human(self.each)}: either it leaves that, or the steps between do, and"
                " a larger limit only delays the end"
            )
        between = ", and next to nothing is added between them" if self.alone else ""
        return (
            f"what is in use rises with each {_NAMES[self.event]} ({self.first.place} is the first): about"
            f" {human(self.each)} stay each time{between}, so a larger limit only delays the end"
        )

    def remedies(self, case: Case) -> tuple[Remedy, ...]:
        """What to do about it."""
        if self.event == "evaluation":
            return (_ITERATORS_ONCE, _ONE_SPLIT)
        less = END_EACH_SAVE if framework_of(case) == JAX else _ONE_SAVE
        return (less, _RESTART) if self.apart else (_BEFORE_AND_AFTER, less, _RESTART)


def left_by_each_save(case: Case) -> Line | None:
    """The line whose words say that something of each save stays, where no figures show it."""
    told = case.capture.surroundings
    grows = told.shows("growing in words")
    if grows is None or grows != told.shows("saving in words") or framework_of(case) != JAX:
        return None
    return grows if _EACH_SAVE.search(grows.text) else None


_EACH_SAVE = regex(
    r"(?i)/(?:save|checkpoint)\b|\b(?:per|each|every) (?:\w+ )?(?:save|checkpoint)"
    r"|\b(?:checkpoint\w*|saves?|saving) (?:\w+ ){0,3}?(?:leaks?|accumulates?)\b"
)


def of_each_save() -> tuple[Remedy, ...]:
    """What helps where something of each save stays."""
    return (END_EACH_SAVE, _RESTART)


_NAMES = {"save": "save of a checkpoint", "evaluation": "evaluation"}
_ITERATORS_ONCE = Remedy(
    "make what the evaluation uses once, above the training loop: its input iterators (each has buffers and"
    " threads of its own; no cache, small shuffles) and compiled functions; bring results to numbers, and"
    " drop them",
    slug="make-once",
)
_ONE_SPLIT = Remedy(
    "see which part of it stays: evaluate on one split alone, then on one fixed batch, and compare the rise",
    "print(step, psutil.Process().memory_info().rss >> 20, 'MiB')",
    slug="find-what-grows",
)
_ONE_SAVE = Remedy(
    "keep one save in flight, wait for its end, and drop the copies that it was made from; take newer"
    " releases of what writes it",
    slug="one-checkpoint-at-a-time",
)
_BEFORE_AND_AFTER = Remedy(
    "print the RAM of the process right before a save and when it has ended, and run once without saves: a"
    " figure that stays flat then is proof that saving leaves it",
    "print(step, psutil.Process().memory_info().rss >> 20, 'MiB')",
    slug="find-what-grows",
)
_RESTART = Remedy(
    "until that is found: save less often, or end the run and resume it from its last checkpoint before the"
    " limit is met",
    slug="start-anew",
)


def rise_with(case: Case) -> RiseWith | None:
    """The event that a rise goes with; None where figures do not show it."""
    told = case.capture.surroundings
    readings = told.host_rise
    if len(readings) <= _LEAST_TIMES:
        return None
    for event in _NAMES:
        lines = [line for what, line in told.host_events if what == event]
        found = _of(case, event, readings, lines)
        if found:
            return found
    return None


def _tested(case: Case, event: str) -> bool:
    """Whether the text says that it is fine without."""
    aside = without(case)
    return aside is not None and _WORDS[event].search(aside[0]) is not None


_WORDS = {"save": OF_SAVES, "evaluation": regex(r"(?i)\beval|\bvalidat")}


def _of(case: Case, event: str, readings: tuple[tuple[int, Line], ...], lines: list[Line]) -> RiseWith | None:
    before: list[int] = []
    beside: list[int] = []
    others: list[tuple[int, int]] = []
    alone = False
    for (size, at), (after, end) in pairwise(readings):
        if any(at.number <= line.number < end.number for line in lines):
            before.append(size)
            beside.append(max(0, after - size))
        else:
            alone = alone or abs(after - size) <= _LEAST_SHARE * size
            others.append((max(0, after - size), end.number - at.number))
    most = _LEFT_OUT * max(beside, default=0)
    without = sum(rise for rise, lines_between in others if lines_between == 1 or rise <= most)
    if len(before) <= _LEAST_TIMES or sum(beside) < _MOST_OF_IT * (sum(beside) + without):
        return None
    stays = sorted(other - one for one, other in pairwise(before))
    alike = len(stays) > _LEAST_TIMES or stays[-1] <= _LEFT_OUT * stays[0]
    each = statistics.median(stays) if alike else stays[0]  # the first also makes what all others use
    if each < _LEAST_SHARE * readings[-1][0]:
        return None
    return RiseWith(event, round(each), alone, lines[0], bool(others) or _tested(case, event))
