"""How the run stood when it failed, under a heading of its own."""

from __future__ import annotations

from tfmemlens.model.report import Report
from tfmemlens.renderers import run_facts
from tfmemlens.renderers.terminal._blocks import heading, paragraph
from tfmemlens.renderers.view import View


def page(report: Report, index: int, view: View) -> list[str]:
    """The facts under their heading, nothing where the input shows none."""
    told = run_facts.facts(report, report.case.moments[index])
    if not told:
        return []
    return heading("the run", view) + [
        line
        for label, texts in told
        for line in paragraph(", ".join(texts), view.width, " " * 12, f"  {label:10}")
    ]
