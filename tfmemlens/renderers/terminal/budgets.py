"""Budgets as a table: what may be needed, what is, and whether that is within."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.escaping import visible
from tfmemlens.model.budget import Budget
from tfmemlens.model.case import Fits
from tfmemlens.renderers.terminal._blocks import columns
from tfmemlens.renderers.view import View
from tfmemlens.units import human

WORDS = {Fits.YES: "within", Fits.NO: "OVER", Fits.UNDECIDED: "undecided"}


def render(budgets: Sequence[Budget], view: View = View()) -> str:
    """A line for each budget."""
    del view  # names are not broken
    rows = [
        (
            WORDS[each.fits],
            visible(each.name),
            needs(each),
            f"of {human(each.allowed_bytes)}",
            visible(each.note),
        )
        for each in budgets
    ]
    return "\n".join(line.rstrip() for line in columns(rows, frozenset({2, 3}))) + "\n"


def needs(budget: Budget) -> str:
    """What is needed, as one figure or as a range."""
    if budget.high_bytes is None:
        return f"at least {human(budget.low_bytes)}"
    if budget.high_bytes == budget.low_bytes:
        return human(budget.low_bytes)
    return f"{human(budget.low_bytes)} to {human(budget.high_bytes)}"
