"""What loops of the quoted code keep: which list takes what, how often, and of how many bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmemlens.model.capture import Surroundings

if TYPE_CHECKING:
    from tfmemlens.findings.support.kept_trees import Kept


def kept(told: Surroundings) -> list[Kept]:
    """All that loops keep, in the order of the text; trees are read only where there is code."""
    if not told.program():
        return []
    from tfmemlens.findings.support.kept_trees import kept_by_loops

    return kept_by_loops(told)


def largest(keeps: Sequence[Kept], on_host: bool) -> Kept | None:
    """Which of several keeps the most: by what is known of its size; a number only where nothing else is."""
    there = [each for each in keeps if on_host or not each.on_host]
    others = [each for each in there if not each.number]
    known = [each for each in others if each.each]
    if known:
        return max(known, key=lambda each: (each.each or 0) / each.every)
    return others[0] if others else None
