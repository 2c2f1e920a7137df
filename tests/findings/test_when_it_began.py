"""When a failure began, by words: after many good steps, or with another release."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.readers.oom.purpose import LATE
from tfmemlens.readers.oom.told_besides import ANOTHER_RELEASE


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ("after several epochs it stops with an OOM", True),
        ("it ends in OOM after 3-4 epochs", True),
        ("it fails suddenly, on some thousandths iteration", True),
        ("OOM at about the 2500th step", True),
        ("it trains well for the first few epochs", True),
        ("it fails after 1 epoch", False),
        ("it fails at step 1", False),
        ("after 5 epochs the loss is 0.2", False),
        ("I train for 10 epochs", False),
        ("in the first epoch it fails", False),
    ],
)
def test_what_says_that_it_went_well(text: str, late: bool) -> None:
    assert bool(LATE.search(text)) is late


def test_a_bare_message_that_came_late_asks_what_grows() -> None:
    text = "import tensorflow as tf\nIt is fine for the first ten epochs.\n"
    text += "ResourceExhaustedError: Graph execution error"
    report = explained(text)
    assert "it went well for a while, as line 2 says" in report.verdict
    assert report.actions[0].remedy.slug == "find-what-grows"
    early = explained(text.replace("It is fine for the first ten epochs.", "It fails at once."))
    assert early.actions[0].remedy.slug != "find-what-grows"


def test_a_tensor_that_came_late_asks_it_too() -> None:
    said = "It trains well for the first few epochs, then:\n"
    rules = [finding.rule for finding in explained(said + oom("8,64,64,32")).findings]
    assert "growth-between-steps" in rules
    assert "growth-between-steps" not in [each.rule for each in explained(oom("8,64,64,32")).findings]


def test_figures_of_the_allocator_say_more_than_words() -> None:
    said = "It trains well for the first few epochs, then:\n"
    rules = [finding.rule for finding in explained(said + dump(200, 400, 390)).findings]
    assert "growth-between-steps" not in rules


def test_words_alone_say_when() -> None:
    report = explained("My tf.keras training runs out of GPU memory after several epochs.")
    assert "kept from one epoch to the next (line 1), or a later batch that is larger" in report.verdict
    slugs = [action.remedy.slug for action in report.actions]
    assert {"leave-out-in-turn", "compare-shapes"} <= set(slugs) and "smaller-batch" not in slugs


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("After upgrading to tensorflow 2.6 more GPU memory is taken", True),
        ("Since we moved from 2.3 to 2.5 we get OOM", True),
        ("Higher memory usage in TF 2.7 compared to TF 2.6", True),
        ("After upgrading my card the memory is fine", False),
        ("tensorflow 2.6 needs more memory", False),
        ("memory of 7.5 GB, more than 2.5 GB", False),
    ],
)
def test_what_says_that_a_release_did_it(text: str, release: bool) -> None:
    assert bool(ANOTHER_RELEASE.search(text)) is release


def test_another_release_is_gone_back_from() -> None:
    report = explained("After upgrading to tensorflow 2.6 the GPU runs out of memory.")
    assert "it began with another release (line 1)" in report.verdict
    assert report.actions[0].remedy.slug == "newer-release"
    assert "CUDNN_WORKSPACE" in (report.actions[0].remedy.code or "")
    host = explained("After upgrading to tensorflow 2.6 the container's RAM is exhausted.")
    assert "CUDNN" not in " ".join(action.remedy.code or "" for action in host.actions)


def test_the_batch_of_a_tool_stands_in_its_configuration() -> None:
    said = oom("6,40000,2", "Loss/map/while/concat")
    own = explained("model.fit(x, y, batch_size=6)\n" + said)
    tool = explained(
        '  File "model_main_tf2.py", line 3, in <module>\nmodel.fit(x, y, batch_size=6)\n' + said
    )
    texts = [" ".join(action.remedy.text for action in each.actions) for each in (own, tool)]
    assert "gradient accumulation" in texts[0] and "pipeline's config" not in texts[0]
    assert "gradient accumulation" not in texts[1] and "pipeline's config" in texts[1]
