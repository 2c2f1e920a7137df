"""What a graph that has been through the layout pass proves of its copies: causes, costs, and what ends
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmemlens.findings.support.layout_remedies import of_cause, of_study
from tfmemlens.findings.support.rows import Row
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Evidence, Finding, Remedy, Severity
from tfmemlens.model.layout import LayoutCause, LayoutCopy, LayoutStudy
from tfmemlens.units import human
from tfmemlens.values import replace

_ENDS = ("graph-input", "loss-boundary", "constant", "fetched", "not-in-this-graph")
"""Causes at the ends of a model: they cost a copy or two, and nobody can do without an end."""


def of_graph(case: Case, study: LayoutStudy) -> Iterator[Finding]:
    """A finding for each cause in a graph that stands alone."""
    for cause in study.causes:
        share = cause.bytes / study.bytes if study.bytes else len(cause.copies) / len(study.copies)
        minor = cause.slug in _ENDS
        major = Severity.CAUSE if share >= 0.2 else Severity.FACTOR
        yield Finding(
            severity=Severity.NOTE if minor else major,
            headline=f"{amount(cause)}, because {cause.because}",
            explains=cause.bytes,
            because=f"{amount(cause)} because {cause.because}",
            detail=cost(cause, study),
            evidence=proof(cause.copies),
            remedies=tuple([] if minor else of_cause(cause, study, case.api))
            + tuple(of_study(study, case.api) if cause is study.causes[0] else []),
        )


def amount(cause: LayoutCause) -> str:
    """`12 copies, 2.30 GiB`."""
    count = f"{len(cause.copies)} cop{'y' if len(cause.copies) == 1 else 'ies'}"
    if cause.unknown == len(cause.copies):
        return f"{count} of unknown size"
    return f"{count}, {human(cause.bytes)}" + (
        f" and {cause.unknown} of unknown size" if cause.unknown else ""
    )


def cost(cause: LayoutCause, study: LayoutStudy) -> str:
    """What the copies take while they run, from forward to backward, and at the peak."""
    often = ", in a loop at each iteration" if any(copy.in_loop for copy in cause.copies) else ""
    texts = [f"{human(cause.bytes)} are written once a step{often}"]
    if cause.retained_bytes:
        texts.append(f"{human(cause.retained_bytes)} of it is kept from the forward to the backward pass")
    text = "; ".join(texts) + "."
    peak = study.peak
    if peak is None or cause.slug not in peak.by_cause:
        return text
    saved = peak.saved(cause.slug)
    change = (
        f"would fall from {human(peak.bytes)} to {human(peak.bytes - saved)}"
        if saved
        else (
            f"would stay at {human(peak.bytes)}: none of them is alive then, or each takes the place of its"
            " original"
        )
    )
    return f"{text} Without them the peak {change} ({peak.certainty.value}: {peak.how})."


def proof(copies: Sequence[LayoutCopy]) -> tuple[Evidence, ...]:
    """The largest copies, each with the op that forces it."""
    return tuple(
        Evidence(
            f"{copy.node} copies {copy.tensor} for {copy.forced_by}"
            f" ({copy.forced_op or 'op not in the graph'})"
            + (f", through {', '.join(copy.through[:2])}" if copy.through else "")
            + (f", made in {copy.source}" if copy.source else "")
        )
        for copy in sorted(copies, key=lambda copy: -(copy.tensor.bytes or 0))[:3]
    )


def proven(case: Case, rows: list[Row]) -> list[LayoutCause]:
    """The causes of these rows as the graph proves them, the most expensive first."""
    if case.layout is None:
        return []
    names = {row.allocation.node for row in rows}
    kept = [
        replace(cause, copies=tuple(copy for copy in cause.copies if copy.node in names))
        for cause in case.layout.causes
    ]
    return sorted((cause for cause in kept if cause.copies), key=lambda cause: -cause.bytes)


def told(proven: list[LayoutCause]) -> str:
    """The gravest proven cause as a clause: `most because …`."""
    return f"{'most ' if len(proven) > 1 else ''}because {proven[0].because}"


def counted(proven: list[LayoutCause], rows: list[Row]) -> str:
    """`12 copies, 2.30 GiB, because …` for each cause; the bytes are those of the moment, not of the graph's
    run.
    """
    told = []
    for cause in proven:
        names = {copy.node for copy in cause.copies}
        size = sum(row.allocation.total_bytes for row in rows if row.allocation.node in names)
        told.append(
            f"{len(cause.copies)} cop{'y' if len(cause.copies) == 1 else 'ies'}, {human(size)}, because"
            f" {cause.because}"
        )
    return f"The graph proves why: {'; '.join(told)}."


def remedies(case: Case, proven: list[LayoutCause], traced: bool) -> tuple[Remedy, ...]:
    """What ends these copies; savings only where the graph's peak is the one that is explained."""
    assert case.layout
    edits = [
        remedy
        for cause in proven
        if cause.slug not in _ENDS
        for remedy in of_cause(cause, case.layout, case.api)
    ]
    advice = (*edits, *of_study(case.layout, case.api))
    return advice if traced else tuple(replace(remedy, saves_bytes=None, certainty=None) for remedy in advice)


def relief(case: Case) -> float | None:
    """The share of the peak that goes with all copies, None where that is not known."""
    peak = case.layout.peak if case.layout else None
    return max(peak.bytes - peak.without_bytes, 0) / peak.bytes if peak and peak.bytes else None


def at_the_peak(case: Case, traced: bool) -> str:
    """What the peak would be without any copy, of this step or of the one that was traced."""
    peak = case.layout.peak if case.layout else None
    if peak is None:
        return ""
    where = " of the traced step" if case.capture.timelines else " of a simulated step"
    if traced:
        where = ""
    return (
        f"Without all copies the peak{where} would be {human(min(peak.without_bytes, peak.bytes))} instead of"
        f" {human(peak.bytes)} ({peak.certainty.value}: {peak.how})."
    )
