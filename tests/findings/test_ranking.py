"""The order of findings and what of it the verdict takes up."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.findings.logs import MIB, dump, oom, report
from tfmemlens import findings, pipeline
from tfmemlens.findings.support import ranking, verdict
from tfmemlens.model.case import Case
from tfmemlens.model.finding import Basis, Finding, Remedy, Severity


@pytest.fixture(scope="module")
def failure() -> Case:
    return pipeline.explain(oom("64,256,256,2") + "\n").case


def made(slug: str, severity: Severity, **facts: object) -> Finding:
    return Finding(severity, slug, rule=slug, **facts)  # type: ignore[arg-type]


def part(percent: float) -> int:
    """Bytes that are this part of the failing request, which is all that the log tells."""
    return round(percent / 100 * 64 * 256 * 256 * 2 * 4)


def measured(slug: str, percent: float) -> Finding:
    return made(slug, Severity.CAUSE, explains=part(percent), basis=Basis.MEASURED)


def ranked(case: Case, monkeypatch: pytest.MonkeyPatch, *given: Finding) -> list[str]:
    """The order in which the report has what these rules find."""
    return [finding.rule for finding in examined(case, monkeypatch, *given)]


def examined(case: Case, monkeypatch: pytest.MonkeyPatch, *given: Finding) -> tuple[Finding, ...]:
    """What the report has of what these rules find."""

    def rule(finding: Finding) -> SimpleNamespace:
        def check(case: Case) -> Iterator[Finding]:
            yield finding

        return SimpleNamespace(check=check, BASIS=Basis.NAME)

    monkeypatch.setattr(findings, "rules", lambda: {finding.rule: rule(finding) for finding in given})
    return findings.examine(case).findings


def test_causes_come_before_factors_and_notes(failure: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [made(str(severity), severity) for severity in (Severity.NOTE, Severity.FACTOR, Severity.CAUSE)]
    assert ranked(failure, monkeypatch, *given) == ["cause", "factor", "note"]


def test_what_explains_more_comes_first(failure: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [measured(f"{share}", share) for share in (20, 90, 7)]
    assert ranked(failure, monkeypatch, *given) == ["90", "20", "7"]


def test_a_leak_stands_above_the_buffer_that_failed(failure: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = made("buffer", Severity.CAUSE, explains=part(7), basis=Basis.SHAPE)
    assert ranked(failure, monkeypatch, buffer, measured("leak", 60)) == ["leak", "buffer"]


@pytest.mark.parametrize("worse", list(Basis)[1:])
def test_of_equals_the_better_evidence_comes_first(
    worse: Basis, failure: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = list(Basis)[list(Basis).index(worse) - 1]
    given = [made(str(basis), Severity.CAUSE, explains=part(50), basis=basis) for basis in (worse, better)]
    assert ranked(failure, monkeypatch, *given) == [str(better), str(worse)]


@pytest.mark.parametrize(("explained", "first"), [(49, "rows"), (51, "name")])
def test_a_name_must_explain_much_more_than_rows(
    explained: int, first: str, failure: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = made("name", Severity.CAUSE, explains=part(explained), basis=Basis.NAME)
    assert ranked(failure, monkeypatch, name, measured("rows", 20))[0] == first


@pytest.mark.parametrize(("explained", "severity"), [(4.9, Severity.FACTOR), (5.1, Severity.CAUSE)])
def test_a_cause_explains_a_twentieth_at_least(
    explained: float, severity: Severity, failure: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    (finding,) = examined(failure, monkeypatch, measured("small", explained))
    assert finding.severity is severity


def test_a_cause_whose_bytes_nobody_knows_stays_one_and_comes_last(
    failure: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = made("unknown", Severity.CAUSE)
    found = examined(failure, monkeypatch, unknown, measured("known", 6))
    assert [(finding.rule, finding.severity) for finding in found] == [
        ("known", Severity.CAUSE),
        ("unknown", Severity.CAUSE),
    ]


WHOLES = {
    "of the limit": (dump(100, 1000, 950), 1000),
    "of the request that alone exceeds the limit": (dump(2000, 1000, 100), 2000),
    "without a limit of the request and what was held": (
        oom("256,1024,256") + report("700.00MiB from net/a/Relu"),
        256 + 700,
    ),
    "of the request, where nothing else is known": (oom("256,1024,256"), 256),
}


@pytest.mark.parametrize(("log", "mebibytes"), WHOLES.values(), ids=WHOLES)
def test_what_a_share_is_a_share_of(log: str, mebibytes: int) -> None:
    case = pipeline.explain(log).case
    assert ranking.whole_bytes(case, case.moments[0]) == mebibytes * MIB


def test_the_first_failure_comes_first_whatever_it_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    case = pipeline.explain(dump(100, 1000, 950) + dump(200, 1000, 950, op="net/other/Relu")).case
    assert len(case.moments) == 2
    later = made("later", Severity.CAUSE, explains=500 * MIB, basis=Basis.MEASURED, moment=1)
    first = made("first", Severity.NOTE, moment=0)
    assert ranked(case, monkeypatch, later, first) == ["first", "later"]


CANNOT_FIT = {"share": 1.0, "basis": Basis.MEASURED, "because": "the first reason"}


@pytest.mark.parametrize(("share", "named"), [(0.5, True), (0.49, False)])
def test_why_a_request_is_too_large_is_named_from_half_of_it_on(
    failure: Case, share: float, named: bool
) -> None:
    first = made("a", Severity.CAUSE, explains=part(100), **CANNOT_FIT)
    second = made("b", Severity.FACTOR, share=share, because="the second reason")
    sentence = verdict.state(failure, (first, second))
    assert "the first reason" in sentence
    assert ("(the second reason)" in sentence) == named


@pytest.mark.parametrize("differs", [{"share": 0.99}, {"explains": 17}, {"basis": Basis.SHAPE}])
def test_a_first_cause_of_another_kind_stands_alone(failure: Case, differs: dict[str, object]) -> None:
    first = made("a", Severity.CAUSE, **{"explains": part(100), **CANNOT_FIT, **differs})
    second = made("b", Severity.FACTOR, share=1.0, because="the second reason")
    assert "the second reason" not in verdict.state(failure, (first, second))


def test_the_verdict_takes_the_first_that_has_a_clause_for_it(failure: Case) -> None:
    wordless = made("no clause", Severity.FACTOR)
    worded = made("b", Severity.FACTOR, because="the second reason")
    assert "the second reason" in verdict.state(failure, (wordless, worded))
    assert "no clause" in verdict.state(failure, (wordless,))
    cause = made("a cause without one", Severity.CAUSE)
    assert "a cause without one" in verdict.state(failure, (cause, worded))


def test_a_note_explains_nothing(failure: Case) -> None:
    note = made("a", Severity.NOTE, because="the note's reason")
    assert "reason" not in verdict.state(failure, (note,))
    cause = made("b", Severity.FACTOR, because="the factor's reason")
    assert "the factor's reason" in verdict.state(failure, (note, cause))


@pytest.mark.parametrize(
    ("explained", "stays"),
    [(part(10), True), (part(19), True), (part(21), False), (part(80), False), (None, False)],
)
def test_what_explains_next_to_nothing_rules_nothing_out(explained: int | None, stays: bool) -> None:
    """Nothing that explains a quarter of what the adviser does, or more, and nothing of no bytes."""
    advised = made(
        "adviser", Severity.CAUSE, explains=part(80), share=0.8, remedies=(Remedy("cut", slug="in-blocks"),)
    )
    share = (explained or 0) / part(100)
    ruler = made("ruler", Severity.CAUSE, explains=explained, share=share, rules_out=("in-blocks",))
    first, _ = findings._helping([advised, ruler])
    assert bool(first.remedies) is stays
