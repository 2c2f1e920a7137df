"""What a change saves is the engine's to say: no rule has a figure of its own for a change it knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.answers import explained
from tests.conftest import ROOT
from tests.test_verdicts import INPUTS, name_of
from tfmemlens import findings
from tfmemlens.model.finding import Remedy
from tfmemlens.model.report import Report
from tfmemlens.model.what_if import no_step_known, no_tensor_known, nothing_known
from tfmemlens.values import replace
from tfmemlens.what_if.changes import CHANGES

RULES = sorted((ROOT / "tfmemlens" / "findings").rglob("*.py"))
ENGINES = "best_bytes"
"""The attribute of the engine's answer that a remedy may be given."""
FEW = [path for path in INPUTS if path.suffix == ".txt"][::6]


def own_figures(tree: ast.AST) -> Iterator[ast.Call]:
    """The remedies of a change that the engine knows with a figure from elsewhere; where a variable names the
    change, those of a module that speaks of any.
    """
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "Remedy":
            continue
        given = {word.arg: word.value for word in call.keywords}
        given.update(zip(("text", "code", "saves_bytes", "certainty", "change"), call.args, strict=False))
        figure, slug = given.get("saves_bytes"), given.get("slug") or given.get("change")
        if figure is None or (isinstance(figure, ast.Attribute) and figure.attr == ENGINES):
            continue
        known = slug.value in CHANGES if isinstance(slug, ast.Constant) else bool(words & CHANGES.keys())
        if known:
            yield call


@pytest.mark.parametrize("rule", RULES, ids=lambda path: path.stem)
def test_no_rule_computes_what_a_change_saves(rule: Path) -> None:
    lines = [call.lineno for call in own_figures(ast.parse(rule.read_text(encoding="utf-8")))]
    assert not lines, "ask `case.what_if` or `case.of_tensor`"


def test_a_figure_of_its_own_is_seen() -> None:
    culprit = ast.parse(
        'a = Remedy("x", saves_bytes=need // 2, slug="smaller-batch")\n'
        'b = Remedy("x", None, need, slug="recompute")\n'
        'c = Remedy("x", None, need, slug=slug)\n'
        'd = Remedy("x", saves_bytes=need, slug="narrower-layer")\n'
        'e = Remedy("x", slug="smaller-batch")\n'
        'f = Remedy("x", None, saving.best_bytes, slug="smaller-batch")\n'
    )
    assert [call.lineno for call in own_figures(culprit)] == [1, 2, 3]


def remedies(report: Report) -> list[Remedy]:
    """Of a change that the engine knows, those with a figure."""
    every = [remedy for finding in report.findings for remedy in finding.remedies]
    return [remedy for remedy in every if remedy.slug in CHANGES and remedy.saves_bytes is not None]


@pytest.mark.parametrize("sample", FEW, ids=name_of)
def test_without_the_engine_no_change_has_a_figure(sample: Path) -> None:
    report = explained(sample)
    alone = replace(report.case, what_if=nothing_known, of_tensor=no_tensor_known, without=no_step_known)
    assert not remedies(findings.examine(alone))


def test_with_it_some_have() -> None:
    assert any(remedies(explained(sample)) for sample in FEW)
