"""What a text itself says differs goes before a cause of ours, which is then worded as a guess."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.renderers import run_facts

GROWS = "Hello,\nRAM grows at each epoch in training.\n"


def explained(text: str) -> Report:
    return pipeline.explain(f"{GROWS}{text}\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("It used to run bug-free until I rewrote a part of my custom loss.", "what was changed before"),
        ("It happens since I added a callback, and fails.", "what was changed before"),
        ("The leak started after I switched to my own layer.", "what was changed before"),
        ("But now this problem happens again, because I changed my network.", "what was changed before"),
        ("I suspect the data augmentation of keeping arrays.", "what its writer suspects"),
        ("It must be something wrong with my generator.", "what its writer suspects"),
        ("It does not happen with Adam.", "where it does not happen"),
        (
            "It appears with my loss and doesn't occur when I use Keras's.",
            "where it does not happen",
        ),
        ("It only occurs on the GPU.", "where it does not happen"),
        ("It fails since I started using my own callback.", "what was changed before"),
        ("But I get an error when I start to train.", None),  # the run, and no change of it
        ("I get out of memory since I started the training.", None),
        ("I get out of memory when I convert the model.", None),
        ("It worked well until I changed to TensorFlow 2.4.", None),
        ("It works well since I added a callback.", None),
        ("Did it begin after I switched to my own layer?", None),
        ("I think this is a memory leak of the GPU.", None),
        ("I suspect a bug.", None),
        ("I suspect a leak in TensorFlow.", None),  # no part that could be left out
        ("It only occurs in the first epoch.", None),
    ],
)
def test_a_difference_goes_before_our_guess(text: str, says: str | None) -> None:
    report = explained(text)
    first = report.actions[0].remedy
    assert (first.slug == "what-differs") is bool(says)
    assert (
        f"says {says}; besides, a guess: something that is kept" in report.verdict
        if says
        else ("most likely something that is kept" in report.verdict)
    )


def test_what_ended_it_goes_before_what_was_changed() -> None:
    report = explained("It ran well until I rewrote my loss. I fixed it by using tf.abs.")
    assert [each.remedy.slug for each in report.actions[:2]] == ["what-ended-it", "leave-out-in-turn"]


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("I solved it by making the model once.", True),
        ("I solved it by making the model once. But now it happens again with another net.", False),
        ("It was solved with a del and gc.collect(), but train_on_batch cannot be solved by this.", False),
        ("It was solved with a del and gc.collect(), but I do not know why.", True),
        ("I have found a solution for me.\nI just wrote my loop by hand.", True),
        ("I just wrote my loop by hand.", False),
        ("I downgraded Keras to version 2.1.6, and the problem is gone.", True),
        ("I downgraded Keras to version 2.1.6, and the problem is the same.", False),
        ("Calling clear_session after each predict works for me, but I don't know why.", True),
        ("Calling clear_session after each predict works, but not for long.", False),
    ],
)
def test_what_ended_something_else_did_not_end_this(text: str, ended: bool) -> None:
    assert (explained(text).actions[0].remedy.slug == "what-ended-it") is ended


@pytest.mark.parametrize(
    ("text", "larger"),
    [
        ("With a small image it runs well, but when I use a 1080P image, the process is killed", True),
        ("With a small image it runs well, and on the GPU the process is killed", False),
    ],
)
def test_a_kill_that_comes_with_larger_samples(text: str, larger: bool) -> None:
    report = pipeline.explain(f"tf version: 1.0.0\n{text}\n-> sess.run(init)\nKilled\n")
    assert ("most likely the size of one sample" in report.verdict) is larger
    assert (report.actions[0].remedy.slug == "smaller-input") is larger


def test_several_epochs_of_one_model_are_not_several_models() -> None:
    text = "Hello,\nMemory grows.\n3. Train the model for multiple {}\n"
    assert "models before" not in pipeline.explain(text.format("epochs")).verdict
    assert "models before" in pipeline.explain(text.format("times")).verdict


def test_both_memories_are_not_one() -> None:
    assert (
        "that memory grows" in pipeline.explain("Hello,\nGPU memory and RAM constantly increase.\n").verdict
    )
    assert "that host RAM grows" in pipeline.explain("Hello,\nRAM constantly increases.\n").verdict


@pytest.mark.parametrize(
    "said",
    [
        "Dit was op te lossen door de cache uit te zetten.",
        "Es wurde behoben durch eine neue Version von Keras.",
        "C'est r\u00e9solu avec une nouvelle session.",
    ],
)
def test_what_ended_it_in_other_languages(said: str) -> None:
    assert explained(said).actions[0].remedy.slug == "what-ended-it"


def test_what_is_not_solved_ended_nothing() -> None:
    assert "what-ended-it" not in {each.remedy.slug for each in explained("Es ist nicht behoben.").actions}


def test_what_is_set_below_what_ended_it_is_no_setting_of_the_failed_run() -> None:
    failed = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 40.00MiB requested by op net/Relu\n"
    cure = (
        'We solved it by an option of the container:\n\nOPTIONS="--env TF_GPU_ALLOCATOR=cuda_malloc_async"\n'
    )
    cured = pipeline.explain(f"{failed}{cure}")
    first = cured.actions[0].remedy
    assert first.slug == "what-ended-it" and "sets `TF_GPU_ALLOCATOR=cuda_malloc_async`" in first.text
    assert not dict(run_facts.facts(cured, cured.case.moments[0])).get("settings")
    above = pipeline.explain("export TF_GPU_ALLOCATOR=cuda_malloc_async\n" + failed)
    assert dict(run_facts.facts(above, above.case.moments[0])).get("settings")
