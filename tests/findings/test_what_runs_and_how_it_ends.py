"""Which program it is, by which calls, and how it ended, where words alone tell it: with near misses."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def explained(text: str) -> Report:
    return pipeline.explain(f"Hello,\n{text}\n")


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("GPU memory grows with tfjs. await model.fit(xs, ys)", True),
        ("GPU memory grows with tfjs after training.", True),
        ("GPU memory crash: Chrome's GPU process crashes after a couple of training iterations", True),
        ("GPU memory grows with tfjs at each model.predict(x)", False),
        ("GPU memory grows with tfjs, the model was trained elsewhere", False),
    ],
)
def test_a_training_in_javascript_gets_no_advice_for_predictions(text: str, fits: bool) -> None:
    actions = explained(text).actions
    assert ["model.predict" not in (actions[0].remedy.code or ""), "xs and ys" in actions[0].remedy.text] == [
        fits
    ] * 2
    assert actions[0].remedy.slug == "tidy"


@pytest.mark.parametrize(
    ("text", "killed"),
    [
        ("The training is killed suddenly.", True),
        ("It runs for a day and then its killed.", True),
        ("It was killed by the scheduler at the time limit.", False),
        ("It hangs and has to be killed.", False),
        ("It hangs and was killed by me.", False),
        ("It hangs, so it was manually killed.", False),
        ("It was killed with Ctrl-C.", False),
    ],
)
def test_who_killed_it(text: str, killed: bool) -> None:
    assert ("was killed" in explained(text).verdict) is killed


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("This update resolves this issue.", True),
        ("The 2.4 release fixed it.", True),
        ("I hope that this update resolves this issue.", False),
        ("This issue needs an update.", False),
    ],
)
def test_a_release_that_ended_it(text: str, ended: bool) -> None:
    slugs = [each.remedy.slug for each in explained(f"GPU memory is exhausted in training.\n{text}").actions]
    assert ("what-ended-it" in slugs) is ended


def test_what_runs_continuously_without_something() -> None:
    text = "The training is killed suddenly. It runs {} when I train it without evaluating each epoch."
    assert "most likely `evaluating" in explained(text.format("continuously")).verdict
    assert "most likely" not in explained(text.format("slowly")).verdict
