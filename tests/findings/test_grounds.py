"""What may be said of a cause that a text only tells of: most likely, or one of several."""

from __future__ import annotations

import pytest

from tests.findings.test_told_in_words import slugs
from tfmemlens import pipeline

_OOM = "It runs out of GPU memory."


@pytest.mark.parametrize(
    ("text", "likely"),
    [
        (f"I train with MirroredStrategy on two cards. {_OOM}", False),
        ("I train with MirroredStrategy and it runs out of GPU memory.", True),
        ("My CT volumes are 200 x 512 x 512 voxels.\nIt runs out of GPU memory.", False),
        ("It runs out of GPU memory with my 3D volumes.", True),
        ("import jax\nI pmap the step.\nIt runs out of GPU memory.", False),
        ("import jax\nI vmap the solver over 50000 states.\nIt runs out of GPU memory.", True),
    ],
)
def test_a_mention_is_no_cause_by_itself(text: str, likely: bool) -> None:
    verdict = pipeline.explain(f"tensorflow\n{text}\n").verdict
    assert ("most likely" in verdict) is likely
    assert ("it may be" in verdict) is not likely


def test_of_several_causes_what_tells_them_apart_comes_first() -> None:
    report = pipeline.explain(f"tensorflow\nI train with MirroredStrategy on two cards. {_OOM}\n")
    first, second = (action.remedy for action in report.actions[:2])
    assert first.slug == "tell-which"
    assert first.code and "get_memory_info" in first.code
    assert second.slug == "even-batches"
    assert second.text.startswith("if it is what each replica of the strategy holds: ")
    assert "or something that is kept from step to step" in report.verdict


def test_what_the_text_rules_out_is_named_no_more() -> None:
    told = "tensorflow\nI train with MirroredStrategy on two cards. It runs out of GPU memory."
    assert "one step that is too large" in pipeline.explain(f"{told}\n").verdict
    less = pipeline.explain(f"{told} A smaller batch did not help.\n").verdict
    assert "one step that is too large" not in less
    assert "another process" in less


def test_where_nothing_is_named_the_causes_that_fit_are_and_what_tells() -> None:
    verdict = pipeline.explain("tensorflow\nmy RAM is exhausted\n").verdict
    assert "what took it is not said: it may be data that are read or converted whole" in verdict
    assert "tell-which" in (slugs("tensorflow\nmy RAM is exhausted") or [])
    late = pipeline.explain("tensorflow\nmy RAM is exhausted after 300 steps of the training\n").verdict
    assert "what took it is not said" not in late


@pytest.mark.parametrize(
    ("framework", "code"),
    [
        ("tensorflow==1.15.0", None),
        ("tensorflow==2.11.0", "get_memory_info"),
        ("import jax", "memory_stats"),
        ("import torch_xla", "xm.get_memory_info"),
        ("tensorflow on my MacBook", "psutil"),
    ],
)
def test_what_tells_them_apart_is_of_the_framework(framework: str, code: str | None) -> None:
    report = pipeline.explain(f"{framework}\nHello,\n{_OOM}\n")
    tells = [action.remedy for action in report.actions if action.remedy.slug == "tell-which"]
    assert [each.code for each in tells if code is None] == [None] * len(tells) * (code is None)
    assert code is None or (tells and code in (tells[0].code or ""))


def test_what_is_told_of_the_failure_goes_before_a_mention() -> None:
    text = (
        "I train with MirroredStrategy on two cards, TF 2.9. The first epoch is fine, out of memory in the"
        " validation after it. It has validation_batch_size=512.\n"
    )
    verdict = pipeline.explain(text).verdict
    assert "most likely a batch of the evaluation" in verdict
    assert "replica" not in verdict
