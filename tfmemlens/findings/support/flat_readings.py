"""Figures of host RAM that stay as they are: they say more than words of growth."""

from __future__ import annotations

from tfmemlens.findings.support.which_memory import DEVICE, whose
from tfmemlens.model.capture import Surroundings
from tfmemlens.model.case import Case
from tfmemlens.model.line import Line

_LEAST_READINGS, _FLAT = 4, 0.01


def flat_readings(told: Surroundings) -> tuple[tuple[int, Line], ...]:
    """What the program printed of its RAM, from the second figure on, where that stays; else nothing."""
    rest = told.host_readings[1:]
    sizes = [size for size, _ in rest]
    if len(sizes) < _LEAST_READINGS or max(sizes) - min(sizes) > _FLAT * max(sizes):
        return ()
    return rest


def denies_growth(case: Case, said: Line) -> bool:
    """Whether the only figures of the text stay flat, of a memory that its words of growth may mean."""
    told = case.capture.surroundings
    if case.moments or told.readings or not flat_readings(told):
        return False
    return whose(case, said) != DEVICE
