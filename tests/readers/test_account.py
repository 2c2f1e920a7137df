"""Facts that sentences of people tell, by classes of words that stand near each other."""

from __future__ import annotations

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.account import AccountCollector


def facts(text: str) -> dict[str, int]:
    account = AccountCollector()
    for number, line in enumerate(text.splitlines(), 1):
        if line:
            account.observe(Line(number, line))
    return {name: line.number for name, line in account.value().items()}


@pytest.mark.parametrize(
    "text, grows",
    [
        ("RAM of the container goes from 1.1 GB to 7 GB within two days.", True),
        ("Memory went from 900 MB to 2 GB after 40 requests.", True),
        ("Memory went from 2 GB to 900 MB after 40 requests.", False),
        ("RAM rose from 3 to 9 GB over night and over 200 steps.", True),
        ("GPU memory went from 4 GB to 11 GB after upgrading.", False),  # a difference, once
        ("The bucket grew from 1 GB to 7 GB within two days.", False),
        ("If I take two cards, will the memory add up to 16 GB?", False),
        ("Why will the memory increase at each step?", True),
    ],
)
def test_two_figures_and_a_time_tell_of_growth(text: str, grows: bool) -> None:
    assert ("growing in words" in facts(text)) is grows


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The RAM that the tuner takes keeps rising.", {"growing in words", "host RAM in words"}),
        ("The memory does not increase any more.", set()),
        ("I see no increase of memory.", set()),
        ("The loss increases while memory stays as it is.", set()),
        ("An LSTM has a long short-term memory that grows.", set()),
        ("memory growth was enabled", set()),
        ("On the CPU (trained on GPU) the RAM leaks.", {"growing in words", "host RAM in words"}),
        ("Its GPU memory leaks.", {"growing in words", "device memory in words"}),
        ("The whole memory of the GPU is taken by it.", {"taking the whole GPU", "device memory in words"}),
        ("The whole memory of the house is taken.", set()),
        ("memory is never released", {"kept in words"}),
        ("the buffer cannot be freed", {"kept in words"}),
        ("vmap over cells brings exponential memory growth", {"memory at issue"}),
        ("the memory grows exponentially with each call", {"growing in words"}),
        ("the errors of resource exhausted are gone", set()),
        ("the out of memory errors are gone", set()),
        ("from tf.errors import ResourceExhaustedError", set()),
        ("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.5GiB", set()),
        ("The swap is at 98% of its size", {"much memory in words", "host RAM in words"}),
    ],
)
def test_what_a_sentence_tells_of_memory(text: str, told: set[str]) -> None:
    assert set(facts(text)) == told


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Memory increases by 1 GB per trial.", "trial"),
        ("The RAM is not released between folds.", "fold"),
        ("Each time I load a model the RAM goes up.", "loaded model"),
        ("# load_model leaks memory", "loaded model"),
        ("# GPU memory grows after restoring a saved model", "loaded model"),
        ("# A model leaks memory", None),
        ("The memory grows after 4 models.", "model"),
        ("The memory grows with each new model.", "model"),
        ("The memory grows, and there are 4 models in it.", None),
        ("The memory grows in my Sequential model.", None),
        ("Loading a model once and leaking memory", None),
        ("With every request memory climbs.", "request"),
        ("The memory grows every episode.", "episode"),
        ("Calling predict repeatedly leaks memory.", "prediction"),
        ("Predicting leaks memory.", None),
        ("Memory grows over the epochs", "epoch"),
        ("Memory grows in epochs", None),
    ],
)
def test_what_is_done_again_and_again(text: str, unit: str | None) -> None:
    assert [name for name in facts(text) if name.startswith("again")] == (
        [f"again at each {unit}"] if unit else []
    )


def test_what_is_repeated_elsewhere_counts_where_no_failure_names_it() -> None:
    beside = "\n\nFor every fold I plot a curve."
    assert "again at each fold" in facts(f"Memory leaks.{beside}")
    assert "again at each fold" not in facts(f"Memory leaks at each epoch.{beside}")


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ("it crashes at the 3rd epoch", True),
        ("it happens after 2000 steps", True),
        ("I could run it for almost 200 epochs before the error", True),
        ("it crashes in the first epoch", False),
        ("it crashes at around the 10th step of the first epoch", False),
        ("I train for 50 epochs", False),
    ],
)
def test_what_went_well_for_a_while(text: str, late: bool) -> None:
    assert ("failing late" in facts(text)) is late


def test_a_sentence_goes_on_from_one_line_and_no_more() -> None:
    account = AccountCollector()
    for number in range(1, 400):
        account.observe(Line(number, "step of the training with a learning rate"))
    account.observe(Line(400, "memory of it grows"))
    assert len(account._before[0]) < 100
    assert "growing in words" not in facts("the memory\nof my program\nis increasing")


def test_a_sentence_may_go_on_in_the_next_line() -> None:
    assert "growing in words" in facts("here the memory of my program\nis increasing")
    assert "growing in words" not in facts("here the memory of my program.\nis increasing")
    assert "growing in words" not in facts("here the memory of my program\n\nis increasing")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Could you tell how you make your model several times?", False),
        ("Did you build the model in each fold?", False),
        ("Do you know why RAM grows when I make the model several times?", True),
    ],
)
def test_what_somebody_else_is_asked_about_is_told_of_no_run(text: str, told: bool) -> None:
    assert ("again at each model" in facts(text) or "growing in words" in facts(text)) is told
