"""Golden files: pages, each in a file of its own, and one list of what the program concludes from every
sample.

A page that was printed anew shows a regression as a large diff among many. The list (`verdicts.txt`) shows it
as a line, and `--update-golden` prints every line that it changes.
"""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tfmemlens.model.finding import Finding
from tfmemlens.model.report import Report

GOLDEN = Path(__file__).parent / "golden"
VERDICTS = GOLDEN / "verdicts.txt"
PAGE, VERDICT = "golden page", "golden verdict"
"""Names of the properties by which a test tells what it would change."""
_INDENT = "    "


def entry_of(report: Report) -> str:
    """The verdict, and the findings in their order: severity, rule, of which failure if not of the first, and
    what ranks it: the share of the problem that it explains, and the kind of its evidence.
    """
    findings = map(_line_of, report.findings)
    return "\n".join(_INDENT + line for line in (report.verdict, *findings))


def _line_of(finding: Finding) -> str:
    of = f" (failure {finding.moment + 1})" if finding.moment else ""
    explains = "nothing" if finding.explains is None else f"{finding.share:.1%}"
    return f"{finding.severity} {finding.rule}{of}: {explains}, {finding.basis}"


@cache
def verdicts() -> dict[str, str]:
    """The entries of the list by sample."""
    return parsed(VERDICTS.read_text(encoding="utf-8")) if VERDICTS.exists() else {}


def parsed(text: str) -> dict[str, str]:
    """A list's entries: a line with the sample's name, then its indented lines."""
    entries: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(_INDENT):
            entries[name].append(line)
        elif line:
            name = line
            entries[name] = []
    return {name: "\n".join(lines) for name, lines in entries.items()}


def written(entries: dict[str, str]) -> str:
    """The list, sorted by sample."""
    return "".join(f"{name}\n{entries[name]}\n" for name in sorted(entries))


class Changes:
    """What `--update-golden` changed, gathered from all workers; writes the list and tells at the end."""

    def __init__(self, samples: Path) -> None:
        self.samples = samples
        self.pages: dict[str, tuple[int, int]] = {}
        self.entries: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told: list[tuple[str, Any]] = list(report.user_properties)
        for name, value in told:
            if name == PAGE:
                self.pages[value[0]] = counted(value[1], value[2])
            elif name == VERDICT:
                self.entries[value[0]] = value[1]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Old and new lines of the list, and how many lines of which page."""
        if self.entries:
            lines = self.update()
            terminalreporter.section(f"{len(lines)} lines of verdicts.txt changed")
            for line in lines:
                terminalreporter.write_line(line)
        if self.pages:
            terminalreporter.section(f"{len(self.pages)} golden pages changed")
            for name, (gone, come) in sorted(self.pages.items()):
                terminalreporter.write_line(f"{name}: -{gone} +{come} lines")

    def update(self) -> list[str]:
        """Write the list; the lines that changed, each after its sample's name."""
        old = verdicts()
        merged = {
            name: entry for name, entry in {**old, **self.entries}.items() if (self.samples / name).exists()
        }
        VERDICTS.write_text(written(merged), encoding="utf-8")
        return changed(old, merged)


def changed(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Which lines of which entries differ: `-` before, `+` now."""
    lines = []
    for name in sorted({**old, **new}):
        before, after = old.get(name, "").splitlines(), new.get(name, "").splitlines()
        if before != after:
            compared = difflib.ndiff([line.strip() for line in before], [line.strip() for line in after])
            lines += [name, *(f"  {line}" for line in compared if line[0] in "+-")]
    return lines


def counted(old: str, new: str) -> tuple[int, int]:
    """How many lines went and came."""
    compared = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
    return sum(line.startswith("-") for line in compared), sum(line.startswith("+") for line in compared)
