"""Predictions and pipelines of programs that others wrote: what is set there, and what is no batch."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained

RUNS = '  File "main.py", line 39, in <module>\n    sess.run(inference.train, feed_dict=feed)\n'


def first(text: str) -> str:
    return explained(text).actions[0].remedy.text


def test_segments_of_a_song_are_no_batch() -> None:
    said = first(
        f"SpleeterGUI, a song of 22'55\"\n{oom('118,16,256,512', 'conv2d_transpose_28/conv2d_transpose')}"
    )
    assert said.startswith("separate shorter parts of the song, by `--duration`") and "halve" not in said


def test_what_beam_puts_together_is_bounded_though_the_text_trains_as_well() -> None:
    text = "evaluator = Evaluator(examples=gen.outputs['examples'], model=trainer.outputs['model'])\n"
    report = explained(text + oom("448,128,167,167"))
    assert "a batch of 448 that Beam put together" in report.verdict
    assert "--tfxio_use_byte_size_batching" in report.actions[0].remedy.text


@pytest.mark.parametrize(
    ("told", "trains"),
    [
        ("stardist 3D, cell 5 of the prediction notebook", False),
        ("it fails during prediction", False),
        ("it fails in training and not during prediction", True),
        ("my 3D network", True),
    ],
)
def test_words_of_a_prediction_leave_out_what_training_keeps(told: str, trains: bool) -> None:
    verdict = explained(f"{told}\n{oom('1,32,62,512,512', 'model_3/conv3d_49/Conv3D')}").verdict
    assert ("training would keep" in verdict) is trains
    assert "training keeps" not in verdict


@pytest.mark.parametrize(
    ("told", "late"),
    [
        ("It handles about 150 pictures and then it fails.", True),
        ("It fails with these 150 pictures and I have no idea.", False),
        ("I train on 150 images and then it fails.", False),
    ],
)
def test_images_that_went_well_before_are_told(told: str, late: bool) -> None:
    image = "[[Node: enc/Conv2D_3 = Conv2D[T=DT_FLOAT]()]]"
    failed = "ResourceExhaustedError: OOM when allocating tensor with shape[1,64,1200,1500] and type float on"
    report = explained(f"{told}\n{failed} /device:GPU:0 by allocator GPU_0_bfc\n\t {image}\n")
    assert ("others went well before" in report.verdict) is late
    assert (report.actions[0].remedy.slug == "finalize-graph") is late


def test_a_graph_that_is_run_is_fed_less() -> None:
    asked = "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor"
    text = f"Traceback (most recent call last):\n{RUNS}{asked} with shape[5000,100,50000] and type float\n"
    said = first(text)
    assert (
        "feed it fewer samples at a time" in said and "if its first side, 5,000, counts them, 53 take" in said
    )


def test_a_graph_that_is_run_for_one_sample_is_fed_a_smaller_one() -> None:
    allocator = "W tensorflow/core/common_runtime/bfc_allocator.cc:275]"
    text = (
        f"{allocator} Stats: \nLimit: 9000000000\nInUse: 8000000000\nMaxInUse: 8900000000\n\n"
        f"{allocator} Ran out of memory trying to allocate 1.50GiB.  See logs for memory state.\n"
        "W tensorflow/core/framework/op_kernel.cc:968] Resource exhausted: OOM when allocating tensor with"
        f" shape[{{}}]\nTraceback (most recent call last):\n{RUNS}"
    )
    said = first(text.format("1,32,3072,4096"))
    assert "fewer samples" not in said and "for one sample" in said
    assert "for one sample" not in first(text.format("4,32,3072,1024"))
    assert "fewer samples" in first(text.format("1,402653184"))  # a row may be anything


def test_a_process_that_parallel_started_was_killed() -> None:
    text = "subprocess.CalledProcessError: Command 'make_examples' returned non-zero exit status 247.\n"
    assert "The process was killed from outside" in explained(text).verdict
    assert "killed" not in explained(text.replace("247", "2")).verdict


@pytest.mark.parametrize(
    ("told", "exact"), [("gpflow GPR with tfp's lbfgs", True), ("gpflow SVGP with 500 points", False)]
)
def test_the_matrix_of_an_exact_process(told: str, exact: bool) -> None:
    report = explained(f"{told}\n{oom('18000,18000', 'Mul', dtype='double')}")
    assert ("an exact Gaussian process (line 1)" in report.verdict) is exact


@pytest.mark.parametrize(
    ("node", "shape", "of_a_weight"),
    [
        ("gradient_tape/model/layer_1/MatMul/MatMul", "1228800,4096", True),
        ("gradient_tape/model/layer_1/MatMul/MatMul", "2048,4096", False),  # a batch of rows
        ("gradient_tape/model/layer_1/Tensordot/MatMul/MatMul", "1228800,4096", False),
    ],
)
def test_the_gradient_of_a_first_kernel_has_no_batch(node: str, shape: str, of_a_weight: bool) -> None:
    report = explained(oom(shape, node))
    assert ("fully connected kernel" in report.verdict) is of_a_weight
    if of_a_weight:
        assert "smaller-batch" not in {each.remedy.slug for each in report.actions}
