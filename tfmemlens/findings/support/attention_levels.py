"""The setting of a program that lists which of its maps have attention: `attn_resolutions=[64, 16]`."""

from __future__ import annotations

import math
from typing import NamedTuple

from tfmemlens.findings.support.program_lines import code_lines
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Certainty, Remedy
from tfmemlens.model.line import Line
from tfmemlens.patterns import regex

__all__ = ["Levels", "levels", "without_level"]


class Levels(NamedTuple):
    """Sides of the maps that have attention, as a setting of the program lists them."""

    name: str
    line: Line
    sides: tuple[int, ...]


_LISTED = regex(
    r"(?i)\b(?P<name>\w*att\w*)[\"']?\s*"
    r"(?:(?::\s*[\w.]{1,20}(?:\[[\w., ]{1,30}\])?\s*)?=|:|,[^\n]{0,80}\bdefault\s*=)\s*[\[(]"
    r"(?P<sides>\d{1,4}(?:\s*,\s*\d{1,4})*)"
)


def levels(case: Case, queries: int) -> Levels | None:
    """The setting that lists the side of the map whose positions these are; None without one. What the run
    itself prints goes before the program's defaults.
    """
    side, told = math.isqrt(queries), case.capture.surroundings
    if side * side != queries:
        return None
    printed = [Levels(each.name, each.line, each.sizes) for each in told.sizes if _ATTENDED.search(each.name)]
    named = [
        Levels(match["name"], line, tuple(map(int, match["sides"].split(","))))
        for line in code_lines(told)
        if (match := _LISTED.search(line.text))
    ]
    return next((each for each in [*printed, *named] if side in each.sides), None)


_ATTENDED = regex(r"(?i)att")


def without_level(listed: Levels, side: int, need: int | None) -> Remedy:
    """Attention on smaller maps alone."""
    below = [each for each in listed.sides if each < side]
    then = f", so that attention begins at {max(below)} x {max(below)}" if below else ""
    left = round((need or 0) * (max(below, default=0) / side) ** 4)
    return Remedy(
        f"take {side} out of `{listed.name}` ({listed.line.place}){then}: of the map of {side} x {side} no"
        " scores are made then",
        saves_bytes=need - left if need else None,
        certainty=Certainty.EXACT if need else None,
        slug="lower-setting",
    )
