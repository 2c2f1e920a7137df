"""What a remedy saves, in words: the same on every page."""

from __future__ import annotations

from tfmemlens.model.finding import Certainty, Enough, Remedy
from tfmemlens.model.report import Report
from tfmemlens.model.what_if import Saving, SavingBasis
from tfmemlens.units import human, rough

_BEFORE = {Certainty.EXACT: "", Certainty.BOUND: "up to ", Certainty.ESTIMATE: "about "}
_DIGITS = {SavingBasis.REPLAY: 3}
_ENOUGH = {
    Enough.YES: ": enough, {} more was needed",
    Enough.PERHAPS: "",
    Enough.WITH_NEXT: " of the {} more needed: enough only with the next",
    Enough.NO: " of the {} more needed: not enough alone",
}


def first_remedies(report: Report, count: int = 3) -> list[Remedy]:
    """What to do first: the report's best actions, none that would need more memory or buys nothing."""
    remedies = [action.remedy for action in report.actions]
    return [remedy for remedy in remedies if remedy.saves_bytes is None or remedy.saves_bytes > 0][:count]


def advice(report: Report, count: int = 3) -> list[tuple[str, str, str]]:
    """What to do first as (text, what it saves in words, code): of a fit its largest savings, and nothing
    that would need more.
    """
    if report.fit is not None:
        saving = [each for each in report.fit.savings if each.best_bytes is None or each.best_bytes > 0]
        return [(each.text, of_saving(each), "") for each in saving[:count]]
    return [
        (each.text, of_remedy(each, brief=number > 0), each.code or "")
        for number, each in enumerate(first_remedies(report, count))
    ]


def of_remedy(remedy: Remedy, brief: bool = False) -> str:
    """`saves about 280 MiB of the 1.20 GiB more needed: not enough alone`, `would need about 4.6 MiB more`;
    empty where nothing is known. `brief` leaves out that it is enough.
    """
    words = in_words(remedy.saves_bytes, remedy.certainty, remedy.digits)
    if not words or remedy.enough is None or remedy.missing_bytes is None:
        return words
    if brief and remedy.enough is Enough.YES:
        return words
    return words + _ENOUGH[remedy.enough].format(human(remedy.missing_bytes))


def of_saving(saving: Saving) -> str:
    """The same for a row of fit's table."""
    return in_words(saving.best_bytes, saving.certainty, _DIGITS.get(saving.basis, 2))


def in_words(saves_bytes: int | None, certainty: Certainty | None, digits: int = 2) -> str:
    """An estimate with as many digits as it is worth, anything else in full."""
    if saves_bytes is None or certainty is None:
        return ""
    if not saves_bytes:
        return "saves nothing here"
    size = abs(saves_bytes)
    shown = _BEFORE[certainty] + (rough(size, digits) if certainty is Certainty.ESTIMATE else human(size))
    return f"saves {shown}" if saves_bytes > 0 else f"would need {shown} more"
