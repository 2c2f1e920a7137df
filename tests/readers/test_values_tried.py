"""Which values of a setting a text says went well, and which failed."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered
from tfmemlens import pipeline
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.values_tried import ValuesTried

OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[24,384,384,32] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


def _read(*lines: str) -> ValuesTried:
    values = ValuesTried()
    for number, text in enumerate(lines, 1):
        values.observe(Line(number, text))
    return values


def _batches(*lines: str) -> tuple[int, int] | None:
    edge = _read(*lines).batches()
    return (edge[0].value, edge[1].value) if edge else None


@pytest.mark.parametrize(
    ("lines", "batches"),
    [
        (("11 of 20 runs completed - all with BS=12", "All BS=24 and BS=48 runs failed with OOM"), (12, 24)),
        (("Lowering batch size from 96 to 24 fixed it.",), (24, 96)),
        (("batch_size=4 passed, batch_size=6 crashed",), (4, 6)),
        (("With a batch size of 8 it runs fine", "With a batch size of 16/32 it runs out"), (8, 16)),
        (("fit gives OOM even with batch_size=1", "fit_generator works with batch_size=64"), (64, 1)),
    ],
)
def test_which_batch_goes_well(lines: tuple[str, ...], batches: tuple[int, int]) -> None:
    assert _batches(*lines) == batches


@pytest.mark.parametrize(
    "lines",
    [
        ("batch size 8 should work", "batch size 16 fails"),  # a hope
        ("batch size 8 never completed", "batch size 16 fails"),
        ("batch size 8 works", "batch size 8 fails at epoch 3"),  # one value, both ends
        ("batch size 8 works", "batch size 4 failed", "batch size 16 failed"),  # mixed
        ("does batch size 8 work?", "batch size 16 fails"),
        ("batch size 8 works",),
        ("model.fit(x, batch_size=8) completed at epochs=3", "OOM at epochs=9"),
    ],
)
def test_what_decides_nothing(lines: tuple[str, ...]) -> None:
    edge = _read(*lines).batches()
    assert edge is None


def test_a_number_that_is_larger_where_it_fails() -> None:
    both = _read("| 2k rung | passed: `num_rays=2000` |", "The run with num_rays=20000 failed.").compared()
    assert both is not None
    assert both.larger == "num_rays 2000 -> 20000"
    assert (both.works_line.number, both.fails_line.number) == (1, 2)


@pytest.mark.parametrize("name", ["epochs", "seed", "gpu_id", "exit_code"])
def test_numbers_of_no_size_decide_nothing(name: str) -> None:
    assert _read(f"{name}=2 passed", f"{name}=4 failed").compared() is None


def test_a_smaller_number_that_fails_is_no_size() -> None:
    assert _read("rays=20000 passed", "rays=2000 failed").compared() is None


def test_the_batch_that_works_comes_first_and_no_models_of_before() -> None:
    text = (
        "Hyperparameter search runs out\n"
        f"{OOM}"
        "Only 11 of 20 runs completed - all with BS=12\nAll BS=24 and BS=48 runs failed with OOM\n"
    )
    report = explained(text)
    assert "still hold memory" not in report.verdict
    assert report.actions[0].remedy.text.startswith("take the batch of 12 that works (line 3)")


def test_a_search_that_is_only_named_tells_of_no_models_of_before() -> None:
    assert "drop-models" not in offered(f"Hyperparameter search runs out\n{OOM}")


@pytest.mark.parametrize(
    "words", ["It fails after the 3rd trial of the search.", "A grid search that trains models in a loop."]
)
def test_a_search_of_which_models_were_made_does(words: str) -> None:
    assert "drop-models" in offered(f"{words}\n{OOM}")


def test_a_larger_batch_that_works_rules_a_smaller_one_out() -> None:
    text = (
        "Keras with TensorFlow, training a network on my GPU\n"
        "When I run model.fit() it gives an OOM error even with batch_size=1\n"
        "but with model.fit_generator() it works fine with batch_size=64\n"
    )
    told = pipeline.capture(text).surroundings
    assert told.shows("a larger batch works")
    assert not {"smaller-batch", "smaller-model"} & set(offered(text))
    assert offered(text)[0] == "what-differs"


def test_two_failures_that_are_told_apart_are_no_two_ways() -> None:
    text = (
        "Training with jax on a TPU.\n"
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 2.94M. That was not"
        " possible. There are 1.20M free.\n\n"
        "This is a different failure from the one with batch 32 above - that one ran out of memory at once,"
        " at a fixed 2G over the limit. This one runs well for hours.\n"
    )
    assert pipeline.capture(text).surroundings.compared is None


def test_a_fixed_issue_is_no_cure() -> None:
    text = "RAM grows with each model in keras. I found this fixed issue, so I comment here.\n"
    assert not any(
        name.startswith("said to end it") for name, _ in pipeline.capture(text).surroundings.purposes
    )


def test_what_fixed_it_is() -> None:
    text = "RAM grows with each model in keras. Updating to the nightly: this fixed it.\n"
    assert any(name.startswith("said to end it") for name, _ in pipeline.capture(text).surroundings.purposes)


@pytest.mark.parametrize(
    ("words", "tried"),
    [
        ("We have used remat on all blocks and it did not help.", True),
        ("A batch of 16 (needs remat of the encoder) is not solved by this work, we have used 8.", False),
    ],
)
def test_what_is_needed_was_not_tried(words: str, tried: bool) -> None:
    assert (pipeline.capture(f"{words}\n").surroundings.shows("recomputing in vain") is not None) is tried


def test_a_size_that_is_told_goes_before_the_number() -> None:
    text = (
        "GP regression with jax\nn_points=30000 fits. n_points=60000 fails:\n"
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 14400000000 bytes.\n"
    )
    assert pipeline.capture(text).surroundings.compared is not None
    assert offered(text)[0] != "what-differs"
