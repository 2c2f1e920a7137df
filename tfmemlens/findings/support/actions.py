"""What to do, best first: the remedies of all findings, each once."""

from __future__ import annotations

from collections.abc import Sequence

from tfmemlens.model.finding import Action, Finding, Remedy


def merged(findings: Sequence[Finding]) -> tuple[Action, ...]:
    """The actions of the moment that matters most: a remedy that several rules advise is one action of all of
    them. What saves most is first, then what has no figure in the order of the findings; what needs more
    memory is last.
    """
    ours = [finding for finding in findings if finding.moment == 0]
    advised: dict[str, tuple[Remedy, list[str]]] = {}
    for finding in ours:
        for remedy in finding.remedies:
            remedy, rules = advised.setdefault(remedy.change or remedy.text, (remedy, []))
            if finding.rule not in rules:
                rules.append(finding.rule)
    actions = [Action(remedy, tuple(rules)) for remedy, rules in advised.values()]
    return tuple(sorted(actions, key=_rank))


def _rank(action: Action) -> tuple[int, int]:
    saves = action.remedy.saves_bytes
    if saves is None:
        return 1, 0
    return (0, -saves) if saves > 0 else (2, -saves)
