"""Settings that work, that did not reach the program, or that its writer needs; and GPUs that are too new."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained

BLAS = (
    "InternalError: Blas GEMM launch failed : a.shape=(32, 9216), b.shape=(9216, 512), m=32, n=512, k=9216\n"
)


def test_a_batch_that_works_now_is_not_halved() -> None:
    asked = "OOM when allocating tensor with shape[59,128,195370]"
    text = f"{asked}\nChanging batch size from 128 to 48 works now.\n"
    report = explained(text)
    assert "take the batch of 48 that works (line 2)" in {each.remedy.text for each in report.actions}
    assert "(5.50 GiB as float32)" in report.verdict


@pytest.mark.parametrize(
    "said",
    [
        "with a batch size of 1 I get OOM, to make it work I have to go to 128\n",
        "with batch size 8 it fails, nothing works\n",
    ],
)
def test_a_batch_that_fails_does_not_work(said: str) -> None:
    settings = explained(f"{said}{oom('8,64,112,112')}").case.capture.surroundings.settings
    assert "working_batch" not in {name for name, _, _ in settings}


@pytest.mark.parametrize(
    ("told", "other"),
    [
        ("I set BATCH_SIZE to 4", True),
        ("BATCH_SIZE = 43", False),  # 86 are two of them
        ("BATCH_SIZE = 4, and 86 tiles of each slide", False),  # the text says what it is
        ("batch_size=86", False),
    ],
)
def test_another_count_than_the_batch_is_said_to_be_one(told: str, other: bool) -> None:
    said = [each.remedy.text for each in explained(f"{told}\n{oom('86,64,224,224')}").actions]
    assert any("which is no multiple of the batch" in text for text in said) is other


@pytest.mark.parametrize(
    ("told", "newer"),
    [
        ("TensorFlow 1.12.0, CUDA 9.0, RTX 2070 8G", True),
        ("TensorFlow 2.2.0, CUDA 10.1, RTX 3090", True),
        ("TensorFlow 1.13.1, CUDA 10.0, RTX 2070 8G", False),
        ("TensorFlow 1.12.0, CUDA 9.0, GTX 1070", False),
        ("RTX 2070 8G", False),  # no release is told
    ],
)
def test_a_gpu_newer_than_the_cuda_lacks_no_memory(told: str, newer: bool) -> None:
    report = explained(f"{told}\nCUBLAS_STATUS_EXECUTION_FAILED: failed to run cuBLAS routine\n{BLAS}")
    assert ("newer than the CUDA of this TensorFlow" in report.verdict) is newer


@pytest.mark.parametrize(
    ("thing", "left_out"), [("horovod", False), ("MirroredStrategy", False), ("the histograms", True)]
)
def test_what_a_program_runs_in_is_not_left_out(thing: str, left_out: bool) -> None:
    text = f"Memory grows with each step until OOM. Without {thing} it runs fine.\n"
    said = [each.remedy.text for each in explained(text).actions]
    assert any(each.startswith("leave out") for each in said) is left_out


def test_the_limit_of_protobuf_is_no_lack_of_memory() -> None:
    report = explained(
        "ValueError: Message tensorflow.GraphDef exceeds maximum protobuf size of 2GB: 2237555411"
    )
    assert report.verdict.startswith("No lack of memory: the graph itself is larger than the 2 GiB")
    assert "SavedModel" in report.actions[0].remedy.text


def test_a_loss_that_is_not_the_writers_is_not_rewritten_first() -> None:
    node = "model/Transformer/decode/presoftmax_linear/MatMul"
    first = explained(f"--batch_size=4096\n{oom('4096,33708', node)}").actions[0].remedy
    assert first.slug == "smaller-batch"
    own = explained(f"loss = tf.reduce_mean(xent(labels, logits))\n{oom('4096,33708', node)}").actions
    assert [each.remedy.slug for each in own[:2]] == ["smaller-batch", "sampled-loss"]


def test_a_batch_that_it_must_be_lowered_to_works() -> None:
    text = f"With 2.4.1 the batch size must be lowered to 3.\n{oom('4,64,512,512')}"
    first = explained(text).actions[0].remedy
    assert first.text == "take the batch of 3 that works (line 1)"


@pytest.mark.parametrize(
    ("node", "batch", "graph"),
    [
        ("graph_attention_1/dropout_3/cond/dropout/mul", "", True),
        ("model/gat_conv/MatMul", "", True),
        ("net/gate/MatMul", "", False),
        ("Mixture/sample/Multinomial", "batch_size = 64\n", False),
    ],
)
def test_a_square_of_nodes_has_no_batch(node: str, batch: str, graph: bool) -> None:
    report = explained(f"{batch}{oom('13708,13708', node)}")
    assert ("all pairs of the 13,708 nodes" in report.verdict) is graph
    if graph:
        assert "smaller-batch" not in {each.remedy.slug for each in report.actions}


def test_a_batch_goes_before_a_narrower_net() -> None:
    said = explained(f"  filters: 80\n  batch_size: 16\n{oom('16,128,128,80', 'Conv2D')}").actions
    assert said[0].remedy.slug == "smaller-batch"


def test_a_small_tensor_of_unknown_type_is_a_bystander() -> None:
    text = "op_kernel.cc:1192] Resource exhausted: OOM when allocating tensor with shape[34560,1]\n"
    assert "a bystander that requested only 135.0 KiB as float32" in explained(text).verdict


def test_a_wide_sigmoid_is_no_output_layer_of_words() -> None:
    message = oom("512,64000", "gradients/model/dense_1/MatMul_grad/MatMul_1")
    report = explained(f"y = Dense(64000, activation='sigmoid')(x)\n{message}")
    assert "positions" not in report.verdict
    assert "sampled-loss" not in {each.remedy.slug for each in report.actions}


def test_a_turned_kernel_of_a_convolution_has_no_batch() -> None:
    text = oom("2048,512,1,1", "", kernel="conv_ops.cc")
    assert "smaller-batch" not in {
        each.remedy.slug for each in explained(text).actions if "2048" in each.remedy.text
    }


def test_of_models_in_a_loop_no_smaller_batch_goes_first() -> None:
    text = "This error happens when training several models in a for loop:\n" + oom("32", "sub_2518")
    slugs = [each.remedy.slug for each in explained(text).actions]
    assert "drop-models" in slugs
    assert slugs[0] != "smaller-batch"


def test_another_folder_named_keras_tells_no_version() -> None:
    text = 'File "/mnt/nmt-keras/src/keras-wrapper/keras_wrapper/dataset.py", line 52, in save\nMemoryError\n'
    assert "2.13" not in str(explained(text).case.capture.incidents)
