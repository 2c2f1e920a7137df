"""Why does it matter, what helps? One rule a module; this runs them all, ranks what they find, and states the
verdict.

A rule is a docstring page, `check(case)`, and what ranks its findings: `BASIS`, the kind of evidence that it
rests on, and `EXPLAINS`, which bytes its findings account for ("none" where it accounts for none). What a
rule with `GENERAL = True` advises holds of any failure: it is not said where another rule names the cause;
`GENERAL = 0.3` of one that names at least that share of the problem. `HEDGED` holds the severities in which a
rule says what it found in any case, and advises only where no other rule names a cause that explains as much:
of what may be.
What a rule with `ALONE = True` says counts where no other rule says anything.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

from tfmemlens import discovery
from tfmemlens.findings.support import accounts, actions, parts_that_fit, ranking, sufficiency, verdict
from tfmemlens.findings.support.applicability import applicable
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.report import Report
from tfmemlens.values import replace


def examine(case: Case) -> Report:
    """The report: every rule asked, the answers ranked by what they explain."""
    answers: list[Finding] = []
    runs = {index: situation(case, moment) for index, moment in enumerate(case.moments)}
    unknown = situation(case)
    for slug, rule in rules().items():
        answers += [
            ranking.graded(case, replace(finding, rule=slug, basis=finding.basis or rule.BASIS))
            for finding in rule.check(case)
        ]
    answers = [each for each in answers if not _alone(each)] or answers
    applying = (
        replace(finding, remedies=applicable(finding.remedies, runs.get(finding.moment, unknown)))
        for finding in sorted(_helping(_telling(answers)), key=ranking.rank)
    )
    ranked = tuple(
        sufficiency.judged(case, parts_that_fit.fitted(case, finding))
        for finding in accounts.in_place(tuple(applying))
    )
    return Report(case, ranked, verdict.state(case, ranked), actions=actions.merged(case, ranked))


def _telling(answers: list[Finding]) -> list[Finding]:
    """Without the general advice for a failure whose cause is named, by what is asked for or who holds it,
    and without the advice of findings that are hedged there.
    """
    general = {slug: rule.GENERAL for slug, rule in rules().items() if hasattr(rule, "GENERAL")}
    named: dict[int, float] = {}
    for finding in answers:
        if (
            finding.rule not in general
            and not _is_hedged(finding)
            and finding.severity is Severity.CAUSE
            and finding.remedies
            and finding.basis is not Basis.FIGURES
        ):
            named[finding.moment] = max(finding.share, named.get(finding.moment, 0.0))
    return [
        replace(finding, remedies=()) if _is_surpassed(finding, named) else finding
        for finding in answers
        if finding.rule not in general
        or not finding.remedies
        or finding.moment not in named
        or (general[finding.rule] is not True and named[finding.moment] < general[finding.rule])
    ]


def _is_surpassed(finding: Finding, named: Mapping[int, float]) -> bool:
    """Whether a hedged finding stands beside a cause that is shown and explains as much, or is no cause."""
    if finding.moment not in named or not _is_hedged(finding):
        return False
    return finding.severity is not Severity.CAUSE or finding.share <= named[finding.moment]


def _helping(answers: list[Finding]) -> list[Finding]:
    """Without the remedies that a finding of the same moment rules out; one that explains next to nothing
    beside another says nothing of what helps there.
    """
    rulers = [each for each in answers if each.rules_out]
    if not rulers:
        return answers
    return [_without(finding, rulers) for finding in answers]


_NEXT_TO_NOTHING = 0.25
"""Of the share that another finding explains."""


def _without(finding: Finding, rulers: Sequence[Finding]) -> Finding:
    out = {
        slug
        for ruler in rulers
        if ruler.moment == finding.moment
        if ruler.explains is None or ruler.share >= _NEXT_TO_NOTHING * finding.share
        for slug in ruler.rules_out
    }
    remedies = tuple(each for each in finding.remedies if each.slug not in out)
    return finding if len(remedies) == len(finding.remedies) else replace(finding, remedies=remedies)


def _alone(finding: Finding) -> bool:
    """Whether a finding counts only where no other rule has one."""
    return getattr(rules()[finding.rule], "ALONE", False)


def _is_hedged(finding: Finding) -> bool:
    """Whether what a finding advises is of what may be, rather than of what it shows."""
    return finding.severity in getattr(rules()[finding.rule], "HEDGED", ())


def rules() -> dict[str, ModuleType]:
    """The catalogue: all rules by slug."""
    return discovery.plugins(sys.modules[__name__], "check")
