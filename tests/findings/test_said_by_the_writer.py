"""What a writer says of his own trouble is not advised, denied or ignored."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report


def _explained(text: str) -> Report:
    return pipeline.explain(f"Hello,\n{text}\n")


def test_a_small_machine_that_words_name_is_told_where_a_process_was_killed() -> None:
    report = _explained("I train a Keras model in TensorFlow on a t3.micro, and it always gets killed.")
    assert "t3.micro (line 2) has 1 GB of RAM" in report.verdict
    assert report.actions[0].remedy.slug == "more-ram"


def test_ram_that_figures_state_is_told_as_well() -> None:
    report = _explained("The training is killed by the system. My laptop has 2 GB of RAM. I use TensorFlow.")
    assert "the machine (line 2) has 2 GB of RAM" in report.verdict


@pytest.mark.parametrize(
    "text",
    [
        "My TensorFlow training is killed by the system on a p2.xlarge.",
        "My TensorFlow training is killed by the system. On a t2.small it works.",
        "My TensorFlow training is killed by the system. It uses 2 GB of RAM.",
    ],
)
def test_a_large_machine_or_another_one_is_not_said_to_be_small(text: str) -> None:
    assert "has 2 GB of RAM" not in _explained(text).verdict
    assert "more-ram" not in [each.remedy.slug for each in _explained(text).actions]


def test_a_notebook_kernel_that_died_on_a_small_machine_may_have_been_short_of_ram() -> None:
    report = _explained(
        "[W] KernelRestarter: restarting kernel (1/5)\nI use a t2.small for this Keras model."
    )
    assert "host RAM may have run out (t2.small (line 3) has 2 GB of RAM), or a library" in report.verdict
    assert [each.remedy.slug for each in report.actions] == ["as-a-script", "more-ram"]


def test_a_leak_that_is_not_seen_is_no_leak() -> None:
    report = _explained(
        "After 90 steps the TensorFlow training is killed by the OS, but I don't see a memory leak."
    )
    assert "was killed" in report.verdict
    assert "line 2 sees no leak" in report.verdict
    assert "smaller-batch" not in [each.remedy.slug for each in report.actions]


def test_a_leak_whose_cause_is_not_seen_is_one() -> None:
    report = _explained("I don't see why the memory leaks in my TensorFlow training.")
    assert "in words that memory" in report.verdict
    assert "sees no leak" not in report.verdict


def test_what_was_tried_is_told_and_not_advised() -> None:
    report = _explained(
        "TensorFlow runs out of GPU memory. I tried to lower the batch size, but nothing solves it."
    )
    assert "tried or in use already: a smaller batch (line 2)" in report.verdict
    assert "smaller-batch" not in [each.remedy.slug for each in report.actions]


def test_a_small_model_that_shows_it_to_others_was_no_remedy() -> None:
    report = _explained(
        "My TensorFlow training runs out of GPU memory. I tried to reproduce it with a smaller model."
    )
    assert "tried or in use" not in report.verdict


def test_swap_that_was_enlarged_is_no_memory_that_grows() -> None:
    report = _explained("My TensorFlow model runs out of RAM, so I increased the swap from 100M to 1024M.")
    assert "grows" not in report.verdict


def test_a_model_that_was_loaded_once_fails_by_another_graph() -> None:
    report = _explained(
        "With Flask I get a memory overflow when the TensorFlow model is loaded at each request.\n"
        "When I load it once, the error is: Tensor is not an element of this graph."
    )
    first = report.actions[0].remedy
    assert first.slug == "load-once"
    assert "session" in first.text
    assert "(line 3) is no lack of memory" in report.verdict


def test_blocks_that_do_not_help_under_a_gradient_are_computed_again() -> None:
    report = _explained(
        "# chunk_size has no effect under a gradient\n"
        "import jax\nI get an out of memory error for the cost matrix of my points.\n"
        "The backward pass has to store all the intermediate results."
    )
    assert "what the backward pass stores" in report.verdict
    assert report.actions[0].remedy.slug == "recompute-body"
    assert "in-blocks" not in [each.remedy.slug for each in report.actions]


def test_draws_that_are_made_in_parts_are_brought_to_the_host() -> None:
    report = _explained(
        "I sample with NumPyro and NUTS, and implemented batching. JAX is out of memory on my GPU in part 2."
    )
    assert "the draws of the part before" in report.verdict
    assert report.actions[0].remedy.slug == "draws-to-the-host"


def test_a_hosted_service_is_full_of_host_ram_and_may_get_more() -> None:
    report = _explained("On Heroku my Keras app runs out of memory when the TensorFlow model is loaded.")
    assert "host RAM" in report.verdict
    assert "container-limit" in [each.remedy.slug for each in report.actions]


def test_a_release_that_changed_from_one_to_another_is_a_move() -> None:
    report = _explained(
        "GPU memory changed from TF 1.3.0 to 1.4.0.\n"
        "TensorFlow runs out of GPU memory with 1.4.0 when running code that runs fine on version 1.3.0."
    )
    assert "tensorflow 1.3.0 works, unlike 1.4.0" in report.verdict
