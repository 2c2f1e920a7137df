"""Blocks of one size of which a dump without names holds many."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.rows import enumerated
from tfmemlens.model.case import Moment
from tfmemlens.model.incident import SizeClass
from tfmemlens.units import human, round_up

_MOST_SIZES = 2
"""Sizes that a sentence names."""


def size_classes(moment: Moment) -> Sequence[SizeClass]:
    """The lines of a dump's summary; none where nothing was dumped."""
    return moment.incident.size_classes if moment.incident else ()


def many_alike(moment: Moment, fewest: int, least_bytes: float = 0) -> tuple[int, str]:
    """What blocks take of which at least so many of one size are held, with so many bytes together, and that
    in words, the largest first; 0 and nothing where there are none.
    """
    many = [each for each in size_classes(moment) if each.count >= fewest and each.total_bytes >= least_bytes]
    many.sort(key=lambda each: -each.total_bytes)
    told = [f"{each.count:,} blocks of {human(each.size_bytes)}" for each in many[:_MOST_SIZES]]
    return sum(each.total_bytes for each in many), f"{enumerated(told)} are held" if told else ""


_BEYOND_A_STEP, _MOST_OF_ALL = 1000, 0.9


def piled_up(moment: Moment) -> bool:
    """Whether so many blocks of just the size that was asked for hold nearly all that is in use as no one
    step makes of one tensor: something keeps them.
    """
    need, in_use = moment.request.needed_bytes if moment.request else None, moment.balance.in_use
    if not need or not in_use or not in_use.bytes:
        return False
    equal = [each for each in size_classes(moment) if each.size_bytes == round_up(need)]
    count, size = sum(each.count for each in equal), sum(each.total_bytes for each in equal)
    return count >= _BEYOND_A_STEP and size >= _MOST_OF_ALL * in_use.bytes
