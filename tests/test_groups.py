"""The tests' own machinery: groups that are counted, and the fast selection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import tiers
from tests.groups import HOW, Groups


def told(*reports: tuple[str, str, bool], required: tuple[str, ...] = ()) -> Groups:
    """After reports of (group, when, skipped)."""
    groups = Groups(list(required))
    for group, when, skipped in reports:
        report: Any = SimpleNamespace(keywords={group: 1}, when=when, skipped=skipped)
        groups.pytest_runtest_logreport(report)
    return groups


def test_a_group_says_how_to_get_what_was_skipped() -> None:
    groups = told(("browser", "setup", True), ("node", "setup", False), ("node", "call", False))
    assert groups.lines() == [
        f"browser       0 ran, 1 skipped: {HOW['browser']}",
        "node          1 ran, 0 skipped",
    ]


@pytest.mark.parametrize(
    ("report", "missing"), [(("browser", "call", False), []), (("browser", "setup", True), ["browser"])]
)
def test_a_required_group_must_have_run(report: tuple[str, str, bool], missing: list[str]) -> None:
    groups = told(report, required=("browser",))
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    groups.pytest_sessionfinish(session)
    assert groups.missing == missing
    assert (session.exitstatus == pytest.ExitCode.TESTS_FAILED) == bool(missing)


def test_an_even_choice_has_both_ends() -> None:
    names = [str(number) for number in range(100)]
    assert tiers.evenly(names, 4) == ["0", "33", "66", "99"]
    assert tiers.evenly(names[:4], 4) == names[:4]
