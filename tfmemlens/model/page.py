"""What the HTML page shows: one report a tab, with its ledgers, and what changed between them."""

from __future__ import annotations

from collections.abc import Mapping

from tfmemlens.model.difference import Difference
from tfmemlens.model.ledger import Ledger
from tfmemlens.model.report import Report
from tfmemlens.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Tab:
    """One input: its report, and for each of its moments the ledger."""

    report: Report
    ledgers: tuple[Ledger, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page looks at. `rules` are the pages of the rules that fired, by slug."""

    tabs: tuple[Tab, ...]
    differences: tuple[Difference, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)
    opens_with_comparison: bool = False
    """Whether the comparison is shown first: where somebody asked for what changed."""


@dataclass(frozen=True, slots=True)
class Card:
    """What a notebook shows of a report, or of another answer as the terminal's page tells it, with the whole
    page where that is small enough to be kept in it.
    """

    report: Report | str
    html: str | None = None
