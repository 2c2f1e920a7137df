"""What a text says was tried, and what it only speaks of; programs of Go; advice that nothing supports."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens import pipeline

ON_CPU = (
    "Resource exhausted: OOM when allocating tensor with shape[4,112,112,64] and type float on"
    " /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n"
)


def shows(text: str, fact: str) -> bool:
    return pipeline.capture(f"{text}\n{ON_CPU}").surroundings.shows(fact) is not None


@pytest.mark.parametrize("words", ["I upgraded to Pro", "we upgraded the RAM", "I upgraded my GPU"])
def test_what_is_upgraded_is_no_release(words: str) -> None:
    assert not shows(f"{words} and it still fails.", "another release in vain")


@pytest.mark.parametrize("words", ["I upgraded to 2.4", "we upgraded TensorFlow", "I have upgraded"])
def test_a_release_that_was_tried(words: str) -> None:
    assert shows(f"{words} and it still fails.", "another release in vain")


def test_a_restart_after_which_it_went_well_or_that_was_not_made() -> None:
    assert not shows("Even though I restarted the runtime, I did not get the error.", "ending others in vain")
    assert not shows("Maybe I should have restarted, it still fails.", "ending others in vain")
    assert shows("I restarted the machine, it still fails.", "ending others in vain")
    assert not shows("I killed the process, but it still occupies the memory.", "ending others in vain")
    assert not shows("I killed the process and the GPU memory is still in use.", "ending others in vain")
    assert shows("I killed all processes, it still fails for lack of memory.", "ending others in vain")


LATE = "# Golang TensorFlow on a Pi\nAfter 8-10 min it throws an OOM error. {0}\n"


def test_a_batch_that_was_tried_where_it_fails_late() -> None:
    tried = LATE.format("I tried other batch sizes, no luck.") + ON_CPU
    assert "smaller-batch" not in offered(tried)
    assert "find-what-grows" in offered(tried)
    assert "smaller-batch" in offered(LATE.format("") + ON_CPU)


@pytest.mark.parametrize(
    ("words", "late"),
    [
        ("It crashes after about 20 minutes.", True),
        ("After 2 min it crashes.", False),
        ("It fails after 10 minutes of loading the data.", False),
    ],
)
def test_minutes_that_went_well(words: str, late: bool) -> None:
    assert shows(words, "failing late") == late


def test_a_program_of_go_loads_its_model_once() -> None:
    remedy = first(LATE.format("I tried other batch sizes, no luck.") + ON_CPU)
    assert "session once for all calls" in remedy
    assert "psutil" not in remedy


CRASHED = "Your session crashed after using all available RAM.\n"


def test_a_runtime_with_more_ram_for_a_model_that_is_only_used() -> None:
    infers = explained(f"I just run the inference notebook.\nparams = replicate(params)\n{CRASHED}")
    slugs = [action.remedy.slug for action in infers.actions]
    assert slugs[0] == "more-ram"
    assert "smaller-pipeline" not in slugs
    assert "smaller-prediction-batch" not in slugs
    assert "more-ram" not in offered(f"model.fit(x, y, epochs=5)\n{CRASHED}")[:1]
