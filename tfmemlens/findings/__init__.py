"""Why does it matter, what helps? One rule a module; this runs them all, ranks what they find, and states the
verdict.
"""

from __future__ import annotations

import sys
from types import ModuleType

from tfmemlens import discovery
from tfmemlens.findings.support import actions, verdict
from tfmemlens.findings.support.applicability import applicable
from tfmemlens.findings.support.situation import situation
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Finding, Severity
from tfmemlens.model.report import Report
from tfmemlens.values import replace

_ORDER = {Severity.CAUSE: 0, Severity.FACTOR: 1, Severity.NOTE: 2}


def examine(case: Case) -> Report:
    """The report: every rule asked, the answers ranked by severity and weight."""
    found: list[Finding] = []
    runs = {index: situation(case, moment) for index, moment in enumerate(case.moments)}
    unknown = situation(case)
    for slug, rule in rules().items():
        found += [
            replace(
                finding, rule=slug, remedies=applicable(finding.remedies, runs.get(finding.moment, unknown))
            )
            for finding in rule.check(case)
        ]
    ranked = tuple(
        sorted(
            found,
            key=lambda finding: (
                finding.moment,
                _ORDER[finding.severity],
                -finding.weight,
                -(finding.bytes or 0),
            ),
        )
    )
    return Report(case, ranked, verdict.state(case, ranked), actions=actions.merged(ranked))


def rules() -> dict[str, ModuleType]:
    """The catalogue: all rules by slug."""
    return discovery.plugins(sys.modules[__name__], "check")
