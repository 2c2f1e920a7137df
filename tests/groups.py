"""Tests that need more than Python: which groups of them ran, and how to get those that did not."""

from __future__ import annotations

from collections import Counter

import pytest

HOW = {
    "browser": "apt-get install chromium, or name one in TFMEMLENS_CHROMIUM",
    "fleet": "pip install tfmemlens[fleet,s3], and moto[server] for the storage of its tests",
    "node": "install Node.js 18 or newer; npm install --prefix tests/browser for the linter and for axe",
    "tensorflow": "scripts/make_traces/environments.sh tf1.10 tf1.15 tf2.21 (one is enough for some)",
}
"""For each group, which is a marker, what its tests need."""


class Groups:
    """Counts what ran in each group, and says so at the end; fails where a required group ran nothing."""

    def __init__(self, required: list[str]) -> None:
        self.required = required
        self.ran: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for group in HOW:
            if group in report.keywords:
                self.ran[group] += report.when == "call" and not report.skipped
                self.skipped[group] += report.skipped

    @property
    def missing(self) -> list[str]:
        """Required groups of which nothing ran."""
        return [group for group in self.required if not self.ran[group]]

    def lines(self) -> list[str]:
        """A line for each group: how many ran, how many were skipped, and how to get these."""
        asked = [group for group in HOW if self.ran[group] or self.skipped[group]]
        return [self._line(group) for group in asked]

    def _line(self, group: str) -> str:
        counted = f"{group:10} {self.ran[group]:4} ran, {self.skipped[group]} skipped"
        return f"{counted}: {HOW[group]}" if self.skipped[group] else counted

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.lines():
            terminalreporter.section("groups")
        for line in self.lines():
            terminalreporter.write_line(line)
        for group in self.missing:
            terminalreporter.write_line(f"{group}: required, and nothing of it ran")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
