"""How findings are ranked: by the share of the problem that each explains, and the kind of its evidence."""

from __future__ import annotations

from tfmemlens.findings.support.rows import all_in_use, device_limit, held, on_host
from tfmemlens.model.case import Case, Moment
from tfmemlens.model.finding import Basis, Finding, Severity
from tfmemlens.model.incident import RequestKind
from tfmemlens.values import replace

LEAST_OF_A_CAUSE, LEAST_OF_A_FACTOR = 0.05, 0.01
"""A cause that explains a smaller share of the problem is a factor; of next to nothing, a note."""
TRUST = {Basis.MEASURED: 1.0, Basis.TRACED: 0.9, Basis.SHAPE: 0.7, Basis.NAME: 0.4, Basis.FIGURES: 0.2}
"""What a byte counts by the evidence for it."""
MEANING = {
    Basis.MEASURED: "sizes that the input states of what holds memory or asks for it",
    Basis.TRACED: "the lives of a traced step's tensors",
    Basis.SHAPE: "what a tensor of this shape most likely is",
    Basis.NAME: "a name, or the words of a message",
    Basis.FIGURES: "the allocator's or the compiler's sums: how much, and not who",
}
_ORDER = {Severity.CAUSE: 0, Severity.FACTOR: 1, Severity.NOTE: 2}
_OF_ITS_ROWS = (RequestKind.XLA, RequestKind.TPU, RequestKind.PROGRAM, RequestKind.PROFILE)
"""Requests whose listed rows are parts of what was asked for, and not held beside it."""


def graded(case: Case, finding: Finding) -> Finding:
    """The finding with its share of the problem, and no cause where it explains too little for one."""
    whole = whole_bytes(case, case.moments[finding.moment]) if case.moments else _of_layout(case)
    if finding.explains is None or not whole:
        return finding
    share = min(max(finding.explains, 0) / whole, 1.0)
    severity = finding.severity
    if severity is Severity.CAUSE and share < LEAST_OF_A_CAUSE:
        severity = Severity.FACTOR if share >= LEAST_OF_A_FACTOR else Severity.NOTE
    return replace(finding, share=share, severity=severity)


def rank(finding: Finding) -> tuple[int, int, float, float, int, bool]:
    """The place of a graded finding: the failure that matters most first, then severity, then what it
    explains; of equals the one that names the line that does it.
    """
    trust = TRUST[finding.basis or Basis.NAME]
    return (
        finding.moment,
        _ORDER[finding.severity],
        -finding.share * trust,
        0.0 if finding.severity is Severity.NOTE else -trust,
        -(finding.explains or 0),
        not finding.of_code,
    )


def whole_bytes(case: Case, moment: Moment) -> int:
    """The bytes that a finding explains a part of: the limit; the request, where that alone exceeds the
    limit; without a limit all that had to fit, the request and what was held. Of a step that did not fail
    all that it holds.
    """
    if moment.request is None:
        return held(moment)
    need = moment.request.needed_bytes or 0
    limit = moment.balance.limit if on_host(moment) else device_limit(case, moment)
    if limit and limit.bytes:
        return max(limit.bytes, need)
    taken = all_in_use(moment)
    return max(taken, need) if moment.request.failed.kind in _OF_ITS_ROWS else taken + need


def _of_layout(case: Case) -> int:
    """All copies in a graph that stands alone."""
    return case.layout.bytes if case.layout else 0
