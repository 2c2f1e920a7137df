"""What posts with a message say of batches, boxes, words and joins: each with its nearest miss."""

from __future__ import annotations

import pytest

from tests.findings.logs import GPU, oom
from tests.findings.test_what_an_axis_is import texts
from tests.findings.test_what_is_no_batch import explained

PREDICT = """Traceback (most recent call last):
  File "infer.py", line 37, in main
    sr = model.predict({given})[0]
  File "/usr/lib/dist-packages/tensorflow_core/python/keras/engine/training.py", line 908, in predict
    use_multiprocessing=use_multiprocessing)
"""
ALONE = PREDICT.format(given="np.expand_dims(low_res, axis=0)")
MESSAGE = (
    "OP_REQUIRES failed at {kernel}:198 : Resource exhausted: OOM when allocating tensor with shape[{shape}]"
    f" and type float on {GPU} by allocator GPU_0_bfc\n"
)


@pytest.mark.parametrize(
    ("given", "shape", "pieces"),
    [
        ("np.expand_dims(low_res, axis=0)", "1,900,512", True),
        ("x[None]", "1,900,512", True),
        ("x", "1,4800,4800,32", True),
        ("x", "1,900,512", False),
        ("np.expand_dims(low_res, axis=0)", "8,900,512", False),
    ],
)
def test_one_sample_is_predicted_in_pieces(given: str, shape: str, pieces: bool) -> None:
    text = MESSAGE.format(kernel="transpose_op.cc", shape=shape) + PREDICT.format(given=given)
    assert any("the batch is 1 already" in told for told in texts(text)) is pieces


def test_a_map_that_is_predicted_needs_no_name_of_a_layer() -> None:
    told = texts(MESSAGE.format(kernel="transpose_op.cc", shape="1,4800,4800,32") + ALONE)
    assert told[0].startswith("make it smaller, or go through it in tiles of 2400 x 2400")
    assert not any("fewer channels" in text for text in told)
    other = texts(MESSAGE.format(kernel="transpose_op.cc", shape="1,4800,4800,32"))
    assert not any("tiles of 2400" in text for text in other)


def test_users_of_keras_get_no_session() -> None:
    text = MESSAGE.format(kernel="conv_ops.cc", shape="8,40,40,32")
    found = [
        finding for each in (text + ALONE, text) for finding in explained(each).findings
        if finding.rule == "report-not-enabled"
    ]  # fmt: skip
    slugs = [[remedy.slug for remedy in finding.remedies] for finding in found]
    assert "list-tensors" not in slugs[0]
    assert "list-tensors" not in slugs[1]  # nothing tells of a session, and TensorFlow 2 has none


def test_boxes_are_of_all_images_together() -> None:
    report = explained(oom("400,256,28,28", "mrcnn_mask_deconv/conv2d_transpose"))
    assert "of all images of the batch together" in report.verdict
    told = [action.remedy.text for action in report.actions]
    assert "`IMAGES_PER_GPU` first" in told[0] and any("IMAGE_MAX_DIM" in text for text in told)


def test_a_mask_of_dropout_asks_for_a_smaller_batch_first() -> None:
    told = texts(
        "batch_size = 30\n" + oom("30,512,512,16", "dropout_9/cond/dropout/random_uniform/RandomUniform")
    )
    assert told[0].startswith("halve the batch (30 -> 15)") and told[1].startswith("drop whole channels")


def test_samples_of_a_gradient_are_a_batch_of_a_training() -> None:
    node = "gradients/net/conv_0/Conv2D_grad/Conv2DBackpropFilter"
    told = texts(oom("2048,3,130,130", node))
    assert told[0].startswith("lower the batch of the training: 2,048 -> 64")
    assert not any("lower the batch of the training" in text for text in texts(oom("2048,3,130,130")))


@pytest.mark.parametrize(
    ("shape", "words"),
    [("32,1226,20003", True), ("32,1226,20000", False), ("32,1226,4003", False), ("40000,20003", False)],
)
def test_a_number_of_classes_that_nobody_chooses_is_of_words(shape: str, words: bool) -> None:
    text = f"OOM when allocating tensor with shape[{shape}]\n"
    assert (
        "a number for each of 20,003 words or classes at each of 32 x 1,226 positions"
        in explained(text).verdict
    ) is words


@pytest.mark.parametrize(
    ("shape", "kernel", "batch"),
    [
        ("3955,4096", "matmul_op.cc", True),
        ("4096,4096", "matmul_op.cc", False),
        ("3955,4099", "matmul_op.cc", False),
        ("3955,4096", "cwise_ops.cc", False),
    ],
)
def test_rows_of_a_product_that_nobody_chooses_are_of_a_batch(shape: str, kernel: str, batch: bool) -> None:
    told = texts(MESSAGE.format(kernel=kernel, shape=shape))
    assert any("halve the batch" in text for text in told) is batch


@pytest.mark.parametrize("shape", ["59,128,195370", "50,450537"])
def test_words_are_told_beside_the_first_lines_of_a_dump(shape: str) -> None:
    text = f"# OOM when allocating tensor with shape[{shape}]\n\n"
    chunks = "".join(
        "2017-10-05 00:15:38.025888: I tensorflow/core/common_runtime/bfc_allocator.cc:678] Chunk at"
        f" 0x705ba0{part}00 of size 1280\n"
        for part in range(4)
    )
    report = explained(text + chunks)
    assert "words or classes" in report.verdict
    assert report.actions[0].remedy.slug == "smaller-vocabulary"
    assert "tells neither" in explained(chunks).verdict


JOINS = "-> 1614     all_outputs = nest.map_structure_up_to(batch_outputs, concat, outputs)\n"


def test_the_join_of_a_prediction_is_no_batch() -> None:
    text = oom("1532,128,2049,2", "ConcatV2")
    told = explained(JOINS + text)
    assert "predict joins the outputs of all its batches" in told.verdict
    assert told.actions[0].remedy.slug == "parts-to-host"
    assert "smaller-batch" not in [action.remedy.slug for action in told.actions]
    assert "predict joins" not in explained(text).verdict


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("my GPU memory can't handle an array with the shape of 50000 x 50000, out of memory", True),
        ("I think my gpu memory cant handle an array with the shape of 50000 x 50000.", True),
        ("my GPU is out of memory for images of 5000 x 5000", False),
        ("out of memory for an array of 50 x 50", False),
    ],
)
def test_a_square_array_that_is_told_is_the_one_that_failed(said: str, failed: bool) -> None:
    assert bool(explained(said).case.moments) is failed


def test_an_evaluation_that_the_words_tell_has_its_own_batch() -> None:
    text = oom("16,512,1,547973", "x/Conv2D")
    said = "the longest mel has 799 frames, but when doing evaluation, OOM error occurred:\n"
    told = texts("batch_size = 16\n" + said + text)
    assert told[0].startswith("one axis has 547,973 steps, and the text speaks of 799")
    assert any(each.startswith("use a smaller batch for evaluation") for each in told)
    assert not any("accumulation" in each for each in told)
    other = texts("batch_size = 16\nI train and do evaluation each epoch\n" + text)
    assert not any("one axis" in each or "for evaluation" in each for each in other)
