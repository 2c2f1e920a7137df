"""Markdown, to paste into an issue: the same facts as the terminal page, in tables that GitHub renders."""

from __future__ import annotations

from dataclasses import replace

from tfmemlens.escaping import visible
from tfmemlens.model.case import Moment
from tfmemlens.model.finding import Finding
from tfmemlens.model.report import Report
from tfmemlens.patterns import regex
from tfmemlens.renderers import savings
from tfmemlens.renderers.kinds import in_words
from tfmemlens.renderers.markdown._fences import block, fenced, longest_ticks
from tfmemlens.renderers.owners import by_owner
from tfmemlens.renderers.terminal import report as terminal
from tfmemlens.renderers.view import View
from tfmemlens.units import human, percent

_QUOTED = regex("`([^`]+)`")


def render(report: Report, view: View = View()) -> str:
    """The document."""
    parts = [f"**{_prose(report.verdict)}**", ""]
    moments = report.case.moments if view.all_moments else report.case.moments[:1]
    for index, moment in enumerate(moments):
        parts += _moment(moment, view) + _findings(
            [finding for finding in report.findings if finding.moment == index]
        )
    if not moments:
        parts += _findings(list(report.findings))
    parts += [f"- {_prose(note.text)}" for note in report.case.capture.notes[:6]]
    parts += [
        "",
        "<details><summary>the whole page</summary>",
        "",
        *block(terminal.render(report, replace(view, full=True)).rstrip(), "text"),
        "",
        "</details>",
    ]
    return "\n".join(parts) + "\n"


def _moment(moment: Moment, view: View) -> list[str]:
    whole = moment.attribution.table.total_bytes
    if not whole:
        return []
    key = view.by or "layer"
    rows = [
        f"| {_cell(group.name or 'no layer in the name')} | {human(group.total_bytes)} |"
        f" {percent(group.total_bytes, whole)} | {', '.join(in_words(kind) for kind, _ in group.kinds)} |"
        for group in by_owner(moment.drawn.by(key))[: view.top]
    ]
    return [f"| {key} | bytes | share | kinds |", "|---|--:|--:|---|", *rows, ""]


def _findings(findings: list[Finding]) -> list[str]:
    lines = []
    for finding in findings:
        lines += [f"### {finding.severity.value}: {_prose(finding.headline)}", ""]
        if finding.detail:
            lines += [_prose(finding.detail), ""]
        for proof in finding.evidence:
            where = (
                f" (line {proof.line.number}: {_code(proof.line.text.strip()[:200])})" if proof.line else ""
            )
            lines.append(f"- {_prose(proof.fact)}{where}")
        for remedy in finding.remedies:
            saves = f" *{savings.of_remedy(remedy)}*" if savings.of_remedy(remedy) else ""
            lines.append(f"- **try:** {_prose(remedy.text)}{saves}")
            if remedy.code:
                lines += fenced(remedy.code, indent="  ")
        lines.append("")
    return lines


def _code(text: str) -> str:
    """Inline code that no backtick inside can end."""
    text = visible(text)
    ticks = longest_ticks(text)
    fence = "`" * (ticks + 1)
    pad = " " if ticks else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell(text: str) -> str:
    """Inline code that no bar can break out of a table's cell."""
    return _code(text).replace("|", "\\|")


def _prose(text: str) -> str:
    """A sentence: what it quotes as code is code."""
    parts = _QUOTED.split(text)
    return "".join(_code(part) if at % 2 else _escape(part) for at, part in enumerate(parts))


def _escape(text: str) -> str:
    """Names such as `while_1/body/_2` stay as they are; markup in them does not run."""
    text = visible(text)
    for letter in "\\`*_{}[]<>|~":
        text = text.replace(letter, f"\\{letter}")
    return text
