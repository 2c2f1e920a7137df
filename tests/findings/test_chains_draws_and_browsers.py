"""What a text shows of the work itself: chains that keep every step, draws of many outcomes, a page of a
phone's browser, a delegate of a phone's GPU, a vocabulary stated in words, an evaluation beside its training.
"""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

DRAWS = (
    "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[{shape}] and"
    " type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[Node: {node} ="
    ' {op}[T=DT_FLOAT, _device="/job:localhost/replica:0/task:0/device:GPU:0"](ones, num_samples)]]'
)
LOSS = (
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Ran out of GPU memory when allocating"
    " 956701080 bytes for \n\t [[Node: transformer/{node} = Op[T=DT_FLOAT,"
    ' _device="/job:localhost/replica:0/task:0/device:GPU:0"](a, b)]]'
)
DELEGATE = "auto d = TfLiteGpuDelegateV2Create(&o);\n"
TITLE = "Memory leak in Invoke() of TensorFlow Lite on Android\n"
FLAT = "With the CPU it stays flat.\n"
LOOPS = "import tensorflow as tf\nOOM during evaluation, after the training of the first epoch.\n"


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


def first_action(text: str) -> str:
    return explained(text).actions[0].remedy.text


def test_draws_of_many_outcomes_go_in_parts() -> None:
    text = DRAWS.format(shape="1,10000,1000000", node="multinomial/Multinomial", op="Multinomial")
    assert first_action(text).startswith("draw fewer at a time")


def test_a_map_of_that_shape_is_no_draw() -> None:
    text = DRAWS.format(shape="8,10000,100000", node="multinomial_head/add", op="Add")
    assert not first_action(text).startswith("draw fewer")


def test_a_chain_keeps_each_of_its_steps() -> None:
    told = explained(
        "MCMC samples fill up memory (TensorFlow Probability)\nI run tfp.mcmc.sample_chain on 4 copies of my"
        " model. Main memory fills quickly and the process is killed."
    )
    assert "most likely what a chain returns" in told.verdict
    assert "trace_fn" in told.actions[0].remedy.text


def test_a_model_that_is_copied_for_each_trial_stays() -> None:
    told = explained("With TensorFlow, memory grows with each trial: it copies the model every time.")
    assert "what a chain returns" not in told.verdict
    assert "what Keras keeps of the models before" in told.verdict


@pytest.mark.parametrize(
    "message",
    [
        "Unhandled Promise Rejection: RangeError: Out of memory",
        "RangeError: WebAssembly.Memory(): could not allocate memory",
    ],
)
def test_a_page_without_room_is_told_of_threads(message: str) -> None:
    told = explained(f"tfjs-tflite on an iPhone with COOP and COEP headers\n{message}")
    assert "most likely WebAssembly's memory" in told.verdict
    assert "without the headers" in told.actions[0].remedy.text


def test_another_range_error_is_no_lack_of_memory() -> None:
    assert "WebAssembly" not in explained("tfjs: RangeError: Maximum call stack size exceeded").verdict


def test_a_delegate_that_grows_where_the_cpu_stays_flat() -> None:
    told = explained(TITLE + FLAT + DELEGATE)
    assert "the GPU delegate of TensorFlow Lite or the driver under it" in told.verdict


@pytest.mark.parametrize("text", [TITLE + DELEGATE, TITLE + FLAT])
def test_growth_is_the_delegates_only_where_both_are_shown(text: str) -> None:
    assert "GPU delegate of TensorFlow Lite" not in explained(text).verdict


def test_a_stated_vocabulary_is_named() -> None:
    said = "With 650000 words it fails. May I have the bigger vocabulary?"
    told = explained(f"{said}\n{LOSS.format(node='softmax_cross_entropy')}")
    assert "each word of the vocabulary (650,000, line 1)" in told.verdict
    assert told.actions[0].remedy.slug == "smaller-vocabulary"


@pytest.mark.parametrize(
    ("said", "node"),
    [
        ("With 650000 words of vocabulary it fails.", "encoder/add"),
        ("650000 images", "softmax_cross_entropy"),
    ],
)
def test_a_number_of_something_else_is_no_vocabulary(said: str, node: str) -> None:
    assert "each word of the vocabulary" not in explained(f"{said}\n{LOSS.format(node=node)}").verdict


def test_an_evaluation_whose_batch_was_lowered_gets_its_own_process() -> None:
    tried = "I tried a quarter of the training batch for evaluation, it does not help."
    assert first_action(LOOPS + tried).startswith("evaluate in a process of its own")


def test_an_evaluation_whose_batch_is_not_told_gets_one() -> None:
    assert not first_action(LOOPS).startswith("evaluate in a process")


def test_more_than_some_classes_is_not_all_of_a_gpu() -> None:
    assert not explained(
        "The loss of TensorFlow takes a lot of GPU memory with more than 10K classes"
    ).verdict.startswith("No failure")
