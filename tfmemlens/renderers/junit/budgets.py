"""Budgets as test cases: over is a failure, undecided an error."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from tfmemlens.escaping import visible
from tfmemlens.model.budget import Budget
from tfmemlens.model.case import Fits
from tfmemlens.renderers.terminal.budgets import needs
from tfmemlens.renderers.view import View
from tfmemlens.units import human


def render(budgets: Sequence[Budget], view: View = View()) -> str:
    """The document."""
    del view  # nothing of it is a matter of taste
    failures = sum(budget.fits is Fits.NO for budget in budgets)
    errors = sum(budget.fits is Fits.UNDECIDED for budget in budgets)
    cases = "".join(map(_case, budgets))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuite name="tfmemlens" tests="{len(budgets)}" failures="{failures}" errors="{errors}">\n'
        f"{cases}</testsuite>\n"
    )


def _case(budget: Budget) -> str:
    opened = f'  <testcase classname="tfmemlens.check" name={_quoted(budget.name)}'
    if budget.fits is Fits.YES:
        return f"{opened}/>\n"
    kind = "failure" if budget.fits is Fits.NO else "error"
    what = f"needs {needs(budget)} of {human(budget.allowed_bytes)}"
    note = f": {budget.note}" if budget.note else ""
    return f"{opened}><{kind} message={_quoted(what + note)}/></testcase>\n"


def _quoted(text: str) -> str:
    return quoteattr(visible(text))
