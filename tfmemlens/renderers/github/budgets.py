"""Budgets that are not kept, as annotations: over is an error, undecided a warning."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.escaping import visible
from tfmemlens.model.budget import Budget
from tfmemlens.model.case import Fits
from tfmemlens.renderers.terminal.budgets import needs
from tfmemlens.renderers.view import View
from tfmemlens.units import human

_LEVELS = {Fits.NO: "error", Fits.UNDECIDED: "warning"}


def render(budgets: Sequence[Budget], view: View = View()) -> str:
    """A line for each."""
    del view
    return "".join(_line(budget) for budget in budgets if budget.fits in _LEVELS)


def _line(budget: Budget) -> str:
    what = f"{budget.name} needs {needs(budget)} of {human(budget.allowed_bytes)}"
    return f"::{_LEVELS[budget.fits]} title=tfmemlens::{_escaped(what)}\n"


def _escaped(text: str) -> str:
    """GitHub's own escapes: a percent sign begins one."""
    return visible(text).replace("%", "%25")
