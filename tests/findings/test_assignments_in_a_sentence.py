"""An op that each call makes anew, told in a sentence and not in quoted code."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

FULL = (
    "W tensorflow/core/common_runtime/bfc_allocator.cc:271] Ran out of memory trying to allocate 32B.  See"
    " logs for memory state.\n"
)
MAKES = "The client takes new values with `sess.run(net.bias.assign(values))` and ends with\n"
FEEDS = "The client takes new values with `sess.run(net.put, {net.new: values})` and ends with\n"


def read(code: str, when: str) -> str:
    return pipeline.explain(f"{code}```\n{FULL}```\n{when}\n").verdict


@pytest.mark.parametrize(
    "when", ["It dies at ~340 assign calls.", "Calling it too many times makes it crash, in TF 0.12."]
)
def test_an_assignment_made_by_each_call_fills_the_device(when: str) -> None:
    assert "makes a new `assign` each time it runs" in read(MAKES, when)


@pytest.mark.parametrize(
    ("code", "when"),
    [
        (FEEDS, "It dies at ~340 assign calls."),
        (MAKES, "It fails at the first call."),
        (MAKES, "It fails with 512 units."),
    ],
)
def test_a_fed_value_or_an_early_end_is_no_growth(code: str, when: str) -> None:
    assert "each time it runs" not in read(code, when)


LOOP = "```\n_, s = sess.run([tf.assign(score, value), summary], feed_dict={training: True})\n```\n"


def test_a_line_that_makes_what_it_runs_lets_ram_grow() -> None:
    found = pipeline.explain(
        f"# RAM grows while I train with TF 1.12\nUsed RAM increases at each step.\n{LOOP}"
    )
    assert "makes an op of the graph each time it runs" in found.verdict
    assert found.actions[0].remedy.slug == "data-out-of-the-graph"


def test_the_same_line_without_growth_is_no_verdict() -> None:
    assert "makes an op" not in pipeline.explain(f"# RAM is full\nI train with TF 1.12.\n{LOOP}").verdict
    fed = LOOP.replace("tf.assign(score, value)", "put")
    found = pipeline.explain(
        f"# RAM grows while I train with TF 1.12\nUsed RAM increases at each step.\n{fed}"
    )
    assert "makes an op" not in found.verdict
