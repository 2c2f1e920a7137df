"""Findings: each with the lines that prove it, and what to try."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tfmemlens.model.finding import Finding, Remedy, Severity
from tfmemlens.model.line import Line
from tfmemlens.renderers import savings
from tfmemlens.renderers.terminal._blocks import heading, paragraph, shorten, styled
from tfmemlens.renderers.view import View

_STYLE = {Severity.CAUSE: "red", Severity.FACTOR: "yellow", Severity.NOTE: "cyan"}


def page(findings: Sequence[Finding], view: View) -> list[str]:
    """The findings, numbered, under their heading."""
    lines = heading("findings", view) if findings else []
    quoted: set[Line] = set()
    advised: set[str] = set()
    for number, finding in enumerate(findings, start=1):
        lines += _finding(number, finding, quoted, view)
        for remedy in finding.remedies:
            lines += _remedy(remedy, view, again=(remedy.change or remedy.text) in advised)
            advised.add(remedy.change or remedy.text)
    return lines


def _finding(number: int, finding: Finding, quoted: set[Line], view: View) -> list[str]:
    """A line that stands on the page already is named, not quoted again."""
    head = paragraph(
        f"{finding.severity.value}: {finding.headline}  [{finding.rule}]", view.width, "   ", f"{number}. "
    )
    lines = ["", *(styled(line, _STYLE[finding.severity], view.color) for line in head)]
    if finding.detail:
        lines += paragraph(finding.detail, view.width, "   ")
    for proof in finding.evidence:
        lines += paragraph(proof.fact, view.width, "     ", "   • " if view.unicode else "   - ")
        if proof.line:
            lines += quote(
                proof.line._replace(text="(quoted above)") if proof.line in quoted else proof.line, view
            )
            quoted.add(proof.line)
    return lines


def quote(line: Line, view: View) -> list[str]:
    """The input's line, broken between words where they fit, cut after three rows."""
    place = f"{shorten(line.source, 24)}:{line.number}" if line.source else str(line.number)
    room = view.width - max(len(place), 8) - 3
    pieces = textwrap.wrap(" ".join(line.text.split()), room, break_on_hyphens=False) or [""]
    if len(pieces) > 3:
        pieces = [*pieces[:2], f"{pieces[2][: room - 1]}…"]
    margin = max(len(place), 8)
    heads = [f"{place:>{margin}} │ ", *[" " * margin + " │ "] * (len(pieces) - 1)]
    return [styled(head + piece, "dim", view.color) for head, piece in zip(heads, pieces, strict=True)]


def _remedy(remedy: Remedy, view: View, again: bool) -> list[str]:
    """What to try; what an earlier finding advises already is only named, without its code and figure."""
    if again:
        return paragraph(
            f"{remedy.text.split(';')[0].split(':')[0]} (as above)", view.width, "        ", "   try: "
        )
    saving = f" ({savings.of_remedy(remedy)})" if savings.of_remedy(remedy) else ""
    lines = [
        styled(line, "green", view.color)
        for line in paragraph(remedy.text + saving, view.width, "        ", "   try: ")
    ]
    return lines + [f"        | {line}" for line in (remedy.code or "").split("\n") if remedy.code]
