"""What loops of the quoted code keep: which list takes what, how often, and of how many bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmemlens.model.capture import Surroundings
from tfmemlens.units import MIB
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept

SMALL_BESIDE_CALLS = 256 * MIB
"""A request of no more fails in a program that keeps what its calls return since these are kept."""


def kept(told: Surroundings) -> list[Kept]:
    """All results that loops keep, in the order of the text."""
    found = [each for each in _all_kept(told) if not each.function]
    of_jax = any("jax" in line.text for each in told.program() for line in each.lines)
    return _sized(told, found) if found and of_jax else found


def kept_function(told: Surroundings) -> Kept | None:
    """A function that is made again and again and kept each time: a result of none of its calls."""
    return next((each for each in _all_kept(told) if each.function), None)


def _all_kept(told: Surroundings) -> list[Kept]:
    """Trees are read only where there is code."""
    if not told.program():
        return []
    from tfmemlens.findings.support.kept_trees import kept_by_loops

    return kept_by_loops(told)


def _sized(told: Surroundings, found: list[Kept]) -> list[Kept]:
    """The same with what the program's shapes tell, where no remark states a size."""
    from tfmemlens.knowledge.jax_arrays import arrays_of

    sizes = arrays_of(told.program()).kept
    return [
        each if each.each or each.on_host else replace(each, each=sizes.get(each.line) or None)
        for each in found
    ]


def largest(keeps: Sequence[Kept], on_host: bool) -> Kept | None:
    """Which of several keeps the most: by what is known of its size; a number only where nothing else is."""
    there = [each for each in keeps if on_host or not each.on_host]
    others = [each for each in there if not each.number]
    known = [each for each in others if each.each]
    if known:
        return max(known, key=lambda each: (each.each or 0) / each.every)
    return others[0] if others else None
