"""What is most likely by the words of a post alone: what is done again, where it happens, what was tried."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline


def first(text: str) -> tuple[str, str]:
    """The rule that leads, and the slug of its first remedy."""
    found = pipeline.explain(f"{text}\n").findings
    return (found[0].rule, found[0].remedies[0].slug or "") if found else ("", "")


def advised(text: str) -> list[str]:
    return [action.remedy.slug or "" for action in pipeline.explain(f"{text}\n").actions]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("With Keras Tuner the RAM increases with each trial.", "clear-session"),
        ("ResourceExhausted at the last fold of my cross validation.", "clear-session"),
        ("clear_session does not help: the RAM increases with each trial.", "own-process"),
        ("Memory leaks when I load a model in a loop.", "build-once"),
        ("I call the model for every image in my Flask app and get a memory overflow.", "build-once"),
        ("The memory increases with each request, with Keras.", "build-once"),
        ("Keras takes more RAM: memory grows after each episode.", "direct-call"),
        ("predict leaks memory when I call predict many times.", "direct-call"),
        ("predict_on_batch does not help: predict leaks memory when I call predict many times.", "one-call"),
        ("RAM grows each time I call a tf.function.", "one-signature"),
        ("Memory grows with each iteration, when I call session.run( -x ).", "ops-once"),
        ("Memory leaks when I create and close sessions repeatedly.", "ops-once"),
        ("Memory grows, since I make a new instance of the data set.", "make-once"),
        ("tf.keras.backend.clear_session()\nResourceExhausted at the last fold", "own-process"),
        ("RAM grows from epoch to epoch, with every epoch more.", "leave-out-in-turn"),
        ("The RAM fills up and keeps rising before training starts.", "map-the-file"),
        ("Memory grows all the time while the replay buffer is filled.", "smaller-replay"),
    ],
)
def test_what_grows_by_what_is_repeated(text: str, slug: str) -> None:
    assert first(text) == ("named-growth", slug)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        (
            "After predict its outputs are concatenated, which runs out of memory.",
            "predict-in-pieces",
        ),
        ("Keras evaluates the whole validation set and runs out of memory.", "smaller-evaluation-batch"),
        ("shuffle fills up my RAM memory.", "smaller-shuffle"),
        ("jit_compile fills my GPU memory until it crashes.", "without-xla"),
        ("I train with MirroredStrategy and it runs out of memory.", "even-batches"),
        ("PyTorch runs out of memory because TensorFlow takes all GPU memory.", "growth"),
        ("Two concurrent processes run out of memory: TensorFlow takes all GPU memory.", "growth"),
        ("The GPU memory is not released when the session is closed.", "end-the-process"),
        (
            "It runs out of memory at\naccuracy.eval(feed_dict={x: mnist.test.images, y: mnist.test.labels})",
            "evaluation-in-batches",
        ),
    ],
)
def test_what_fills_memory_by_where_it_happens(text: str, slug: str) -> None:
    assert first(text) == ("told-in-words", slug)


def test_what_an_evaluation_of_a_whole_set_allocated() -> None:
    said = "batch_size = 512\nIt runs out of memory when it evaluates on the dev set, allocating tensor {}"
    assert first(said.format("[68423,1024]"))[0] == "whole-set-in-one-batch"
    assert first(said.format("[512,1024]"))[0] != "whole-set-in-one-batch"
    assert first(said.format("[4096,1024]"))[0] != "whole-set-in-one-batch"  # eight batches


def test_addresses_are_no_memory() -> None:
    text = "TF takes all RAM, top says:\n  PID USER  VIRT RES\n 32 me 27.4g 1.1g"
    assert first(text) == ("told-in-words", "look-at-resident")


def test_growth_at_validation_is_no_growth_of_epochs() -> None:
    text = "If I give validation data, memory goes up after each epoch."
    assert first(text) == ("named-growth", "make-once")


def test_growth_of_those_who_write_no_loop_of_their_own() -> None:
    assert advised("Memory of TensorFlow Serving grows with each request")[0] == "another-malloc"
    assert advised("python object_detection/model_main.py\nThe RAM usage increases")[0] == "smaller-queues"
    assert (
        advised("tfjs-node: loadLayersModel(u); memory keeps rising, tidy does not help")[0]
        == "count-tensors"
    )
    killed = "TF Java leaks memory.\nLast State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137"
    assert "close-tensors" in advised(killed)


def test_a_guess_is_worded_as_one() -> None:
    verdict = pipeline.explain("The RAM increases with each trial.\n").verdict
    assert "host RAM grows (line 1); most likely" in verdict


def test_one_inference_is_no_leak_and_native_memory_has_to_be_closed() -> None:
    text = "TensorFlow.js: 4GB are exhausted in a single inference, it runs out of memory with webgl"
    assert advised(text)[:2] == ["smaller-input", "delete-textures"]
    assert advised("TensorFlow Java: memory grows higher and higher")[0] == "close-tensors"
    assert advised("Memory keeps rising in TensorFlow.js, tidy does not help")[0] == "count-tensors"


@pytest.mark.parametrize(
    "text",
    [
        "Filling up the shuffle buffer takes long before every epoch. Can I avoid it?",
        "load_model() fails in each request of my Flask app",
        "For each trial I get nan as the loss.",
        "How do I save a model after each epoch?",
    ],
)
def test_what_asks_something_else_is_no_failure(text: str) -> None:
    assert not pipeline.explain(f"{text}\n").findings


def test_words_of_a_model_that_is_not_of_keras() -> None:
    code = "for x in rows:\n    y = model.predict(x)\n"
    leaks = "The memory of my program increases.\n"
    assert first(leaks + code) == ("named-growth", "one-call")
    assert first(f"{leaks}import sklearn\n{code}")[0] != "named-growth"
