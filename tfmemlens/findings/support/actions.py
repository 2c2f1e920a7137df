"""What to do, best first: the remedies of all findings, each once."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.findings.support.sufficiency import enough_first, shortfall
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Action, Finding, Remedy


def merged(case: Case, findings: Sequence[Finding]) -> tuple[Action, ...]:
    """The actions of the moment that matters most: a remedy that several rules advise is one action of all of
    them, where the first of them stands. The order is that of the findings, which are ranked by what they
    explain, and within a finding that of its rule: what ends the cause comes before what saves more by the
    way. What buys nothing or needs more memory is last, and what cannot be enough gives way to what may be.
    """
    ours = [finding for finding in findings if finding.moment == 0]
    advised: dict[str, tuple[Remedy, list[str]]] = {}
    for finding in ours:
        for remedy in finding.remedies:
            remedy, rules = advised.setdefault(remedy.change or remedy.text, (remedy, []))
            if finding.rule not in rules:
                rules.append(finding.rule)
    actions = [Action(remedy, tuple(rules)) for remedy, rules in advised.values()]
    short = shortfall(case, case.moments[0]) if case.moments else None
    return enough_first(sorted(actions, key=_buys_nothing), short)


def _buys_nothing(action: Action) -> bool:
    saves = action.remedy.saves_bytes
    return saves is not None and saves <= 0
