"""The content of the HTML page: a tab for each group of inputs, and what changed from the first to each
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfmemlens import findings, pipeline
from tfmemlens.attribution.moments.ledger import ledger_of
from tfmemlens.garbage import without_gc
from tfmemlens.model.capture import Hints
from tfmemlens.model.page import Page, Tab
from tfmemlens.model.report import Report
from tfmemlens.pipeline import Input
from tfmemlens.readers.bytes import own_pages
from tfmemlens.use_cases.difference import compare, must_hold_figures
from tfmemlens.values import replace
from tfmemlens.what_if.sliders import with_sliders


@without_gc
def build_page(groups: Iterable[Iterable[Input]], hints: Hints = Hints(), device: str | None = None) -> Page:
    """The page of these groups of inputs."""
    captures = [pipeline.capture(group, hints, device) for group in groups]
    return page_of([pipeline.report(capture) for capture in captures])


@without_gc
def page_of(reports: Sequence[Report]) -> Page:
    """The page of reports that are made already, a tab for each. The rules that fired come with what they
    mean.
    """
    fired = {finding.rule for report in reports for finding in report.findings}
    shown = [report.case for report in reports if report.case.moments]
    return Page(
        tuple(tab_of(report) for report in reports),
        tuple(compare(shown[0], other) for other in shown[1:]),
        {slug: rule.__doc__ or "" for slug, rule in findings.rules().items() if slug in fired},
    )


def comparison_page(before: Input, after: Input, hints: Hints = Hints(), device: str | None = None) -> Page:
    """The page of two inputs that opens with what changed. Raises UnreadableInput where one of them has no
    memory figures.
    """
    content = build_page([[before], [after]], hints, device)
    for tab in content.tabs:
        must_hold_figures(tab.report.case)
    return replace(content, opens_with_comparison=True)


def is_own_page(path: str) -> bool:
    """Whether a file is a page that was written here, so that a newer one may take its place."""
    try:
        with open(path, "rb") as file:
            return own_pages.is_page(file.read(own_pages.HEAD))
    except OSError:
        return False


def tab_of(report: Report) -> Tab:
    """A report with all rows of each of its moments, and what sliders can change of them."""
    graph = report.case.capture.graph
    return Tab(
        report,
        tuple(
            with_sliders(report.case, index, ledger_of(moment, graph))
            for index, moment in enumerate(report.case.moments)
        ),
    )
