"""Whether memory grows while a run goes on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tfmemlens.findings.support.rows import failures
from tfmemlens.model.allocation import Allocation
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

_NAME = regex(r"<function (?P<name>[\w.<>]+) at ")
_TIMES = regex(r"(?P<times>\d+) out of the last \d+ calls")


def tracings(case: Case) -> int | None:
    """How many tracings of a tf.function its warnings count: the first says five of the last calls, each
    further one more. None where no second warning says that it goes on.
    """
    told = case.capture.surroundings.retraced
    return counted_tracings(*told) if told and told[0] > 1 else None


_MOST_OF_THEM = 0.7
"""Of the tracings, so many left a chunk of the very size; the others one that was larger and not split."""


def one_for_each(row: Allocation, table: Iterable[Allocation], tracings: int) -> bool:
    """Whether each tracing may have left one of these: so many have this size, or are nearly as many and the
    rest lies in chunks below twice it, which the allocator does not split.
    """
    if row.count >= tracings:
        return True
    alike = sum(each.count for each in table if row.size_bytes <= each.size_bytes < 2 * row.size_bytes)
    return row.count >= _MOST_OF_THEM * tracings and alike >= tracings


def counted_tracings(times: int, line: Line) -> int:
    """The same of so many warnings, the first of which is this line."""
    match = _TIMES.search(line.text)
    return (int(match["times"]) if match else 1) + times - 1


def traced_function(line: Line) -> tuple[str, bool]:
    """What the warning calls the function, and whether it is Keras's own."""
    match = _NAME.search(line.text)
    if match and "make_" in match["name"]:
        return "Keras's function for a step", True
    name = match["name"].rpartition("<locals>.")[2] if match else ""
    return (f"the tf.function `{name}`" if name else "a tf.function"), False


def maker_of(line: Line) -> str:
    """The function that made the one a warning tells of: `build` of `Net.build.<locals>.step`."""
    match = _NAME.search(line.text)
    outer = match["name"].rpartition(".<locals>")[0] if match else ""
    return outer.rpartition(".")[2]


def rising(case: Case) -> list[int] | None:
    """In-use figures of several failures of one log in its order, if they rise."""
    told = [
        (moment.request.failed.line, moment.balance.in_use) for _, moment in failures(case) if moment.request
    ]
    first = next((line.source for line, _ in told if line), "")
    figures = sorted(
        (line.number, size.bytes) for line, size in told if line and size and line.source == first
    )
    sizes = [size for _, size in figures]
    rises = len(sizes) >= 3 and all(one < other for one, other in itertools.pairwise(sizes))
    return sizes if rises else None


_LEAST, _LEAST_UNEVEN = 3, 5
"""Readings that tell of growth: each above the one before, or nearly all."""
_MOST_RISE, _AFTER_THE_FIRST = 0.8, 0.3


def steadily(readings: Sequence[tuple[int, Line]]) -> bool:
    """Whether readings go on rising: each above the one before, or four of five and to a quarter more at the
    end. The step from the first to the second may be the largest, but not nearly all: a program takes most
    when it begins.
    """
    sizes = [size for size, _ in readings]
    if len(sizes) < _LEAST:
        return False
    first, second, last = sizes[0], sizes[1], sizes[-1]
    ups = sum(one < other for one, other in itertools.pairwise(sizes))
    uneven = (
        len(sizes) >= _LEAST_UNEVEN
        and ups >= _MOST_RISE * (len(sizes) - 1)
        and last >= 1.25 * first
        and last >= 0.95 * max(sizes)
    )
    strictly = ups == len(sizes) - 1
    return (strictly or uneven) and last - second >= _AFTER_THE_FIRST * (last - first)


class Rate(NamedTuple):
    """How fast printed readings rise."""

    bytes: float
    """For each iteration."""
    turns: int
    """From one reading to the next, at the last."""
    risen: int
    """From the first turn to the last reading."""


def per_turn(told: Surroundings) -> Rate | None:
    """By how much readings on lines that count turns rise for each; None where they do not, or unevenly."""
    steps_at = {(line.source, line.number): step for step, line in told.steps}
    points = [
        (steps_at[key], size)
        for size, line in told.readings
        if (key := (line.source, line.number)) in steps_at
    ]
    if len(points) < _LEAST or not steadily(told.readings):
        return None
    rates = [
        (size - before) / (step - last)
        for (last, before), (step, size) in itertools.pairwise(points)
        if step > last
    ]
    if len(rates) < len(points) - 1 or min(rates) <= 0 or max(rates) > 1.5 * min(rates):
        return None
    rate = sum(rates) / len(rates)
    return Rate(rate, points[-1][0] - points[-2][0], round(rate * points[-1][0]))
