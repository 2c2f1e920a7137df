"""The order of findings and what of it the verdict takes up."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.findings.logs import oom
from tfmemlens import findings, pipeline
from tfmemlens.findings.support import verdict
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Finding, Severity


@pytest.fixture(scope="module")
def failure() -> Case:
    return pipeline.explain(oom("64,256,256,2") + "\n").case


def made(slug: str, severity: Severity, **facts: object) -> Finding:
    return Finding(severity, slug, rule=slug, **facts)  # type: ignore[arg-type]


def ranked(case: Case, monkeypatch: pytest.MonkeyPatch, *given: Finding) -> list[str]:
    """The order in which the report has what these rules find."""

    def rule(finding: Finding) -> SimpleNamespace:
        def check(case: Case) -> Iterator[Finding]:
            yield finding

        return SimpleNamespace(check=check)

    monkeypatch.setattr(findings, "rules", lambda: {finding.rule: rule(finding) for finding in given})
    return [finding.rule for finding in findings.examine(case).findings]


def test_causes_come_before_factors_and_notes(failure: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [made(str(severity), severity) for severity in (Severity.NOTE, Severity.FACTOR, Severity.CAUSE)]
    assert ranked(failure, monkeypatch, *given) == ["cause", "factor", "note"]


def test_the_heavier_comes_first_then_the_larger(failure: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    light = made("light", Severity.CAUSE, weight=0.2, bytes=999)
    small, large = (made(f"heavy-{size}", Severity.CAUSE, weight=0.7, bytes=size) for size in (10, 20))
    assert ranked(failure, monkeypatch, light, small, large) == ["heavy-20", "heavy-10", "light"]


def test_the_first_failure_comes_first_whatever_the_weights(
    failure: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = made("later", Severity.CAUSE, weight=1.0, moment=1)
    first = made("first", Severity.NOTE, moment=0)
    assert ranked(failure, monkeypatch, later, first) == ["first", "later"]


@pytest.mark.parametrize(("weight", "named"), [(0.6, True), (0.59, False)])
def test_a_second_cause_is_named_from_six_tenths_on(failure: Case, weight: float, named: bool) -> None:
    first = made("a", Severity.CAUSE, weight=1.0, because="the first reason")
    second = made("b", Severity.FACTOR, weight=weight, because="the second reason")
    sentence = verdict.state(failure, (first, second))
    assert "the first reason" in sentence
    assert ("(the second reason)" in sentence) == named


def test_a_first_cause_that_does_not_explain_all_stands_alone(failure: Case) -> None:
    first = made("a", Severity.CAUSE, weight=0.99, because="the first reason")
    second = made("b", Severity.FACTOR, weight=0.9, because="the second reason")
    assert "the second reason" not in verdict.state(failure, (first, second))


def test_a_note_explains_nothing(failure: Case) -> None:
    note = made("a", Severity.NOTE, weight=1.0, because="the note's reason")
    assert "reason" not in verdict.state(failure, (note,))
    cause = made("b", Severity.FACTOR, because="the factor's reason")
    assert "the factor's reason" in verdict.state(failure, (note, cause))
