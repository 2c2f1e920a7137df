"""What loops of the quoted code keep: which list takes what, how often, and of how many bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmemlens.model.capture import Surroundings
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept


def kept(told: Surroundings) -> list[Kept]:
    """All that loops keep, in the order of the text; trees are read only where there is code."""
    if not told.program():
        return []
    from tfmemlens.findings.support.kept_trees import kept_by_loops

    found = kept_by_loops(told)
    of_jax = any("jax" in line.text for each in told.program() for line in each.lines)
    return _sized(told, found) if found and of_jax else found


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
