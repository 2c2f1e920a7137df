"""Advice that knows what the axes of a tensor are: sequences, images, volumes."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.test_what_is_no_batch import explained, slugs

ATTENTION = "t/decoder/self_attention/dot_product_attention"


def texts(text: str) -> list[str]:
    return [action.remedy.text for action in explained(text).actions]


def first(text: str) -> str:
    return texts(text)[0]


def of_kernel(shape: str, kernel: str = "conv_ops_3d.cc") -> str:
    """A failure that the kernel's file alone tells of, as a C++ log has it."""
    return oom(shape, "x", kernel=kernel).partition("\n\t")[0] + "\n"


def test_scores_that_no_device_holds_are_made_shorter() -> None:
    told = texts(oom("1,16,230102,230102", f"{ATTENTION}/MatMul"))
    assert told[0].startswith("cap the length") and "230,102" in told[0]
    assert not any("height" in text for text in told)
    assert not any("buckets" in text for text in told)  # of one sample


def test_a_square_of_rows_beyond_every_image_has_no_height() -> None:
    assert not any("height" in text for text in texts(oom("2,4,90000,90000", "net/pairs/Mul")))
    assert any("height" in text for text in texts(oom("64,64,30000,30000", "net/conv/Conv2D")))


def test_a_volume_that_no_device_holds_becomes_an_eighth() -> None:
    (told,) = (text for text in texts(oom("64,512,512,512,32", "net/up/Resize")) if "every feature" in text)
    assert told.startswith("halve depth, height and width") and told.endswith("an eighth")
    (told,) = (text for text in texts(oom("64,16384,8192,64", "net/up/Resize")) if "every feature" in text)
    assert told.endswith("a quarter")


@pytest.mark.parametrize(
    ("shape", "node", "length"),
    [
        ("336840,2807", f"{ATTENTION}/Softmax", "2,807 here"),
        ("307200,2560", f"{ATTENTION}/Softmax", "2560 -> 1280"),
        ("336841,2807", f"{ATTENTION}/Softmax", ""),
        ("336840,2807", "t/decoder/logits/Softmax", ""),
        ("336840,2807", f"{ATTENTION}/Add", ""),
    ],
)
def test_scores_of_all_heads_as_one_matrix(shape: str, node: str, length: str) -> None:
    told = [text for text in texts(oom(shape, node)) if length and length in text]
    assert bool(told) is bool(length)


def test_a_file_of_kernels_names_a_volume_too() -> None:
    told = first(of_kernel("1,32,195,666,1024"))
    assert told.startswith("train on patches, or predict in tiles, of 112 x 336 x 512")
    assert "in-pieces" not in slugs(of_kernel("1,32,195,666,1024"))
    assert "in-pieces" in slugs(of_kernel("1,32,195,666,1024", "cwise_ops.cc"))


def test_what_is_known_to_train_or_to_predict_is_told_one_way() -> None:
    text = of_kernel("1,32,195,666,1024")
    assert first("Epoch 3/10\n" + text).startswith("train on patches of")


@pytest.mark.parametrize(
    ("named", "kernel", "part"),
    [("image_size = 512", "conv_ops_3d.cc", "an eighth"), ("image_size = 512", "conv_ops.cc", "a quarter")],
)
def test_two_sides_of_a_volume_are_told_as_a_volumes(named: str, kernel: str, part: str) -> None:
    told = [text for text in texts(f"{named}\n" + of_kernel("4,40,512,512,16", kernel)) if "lower" in text]
    assert told and told[0].endswith(part)


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ("1,900,512", "(shorten sequences)"),
        ("1,900,3", "(crop or tile images, shorten sequences)"),
        ("1,64,40,40", "(crop or tile images, shorten sequences)"),
        ("1,128,12,402,354", "(crop volumes or clips, or cut them into patches)"),
    ],
)
def test_samples_of_a_batch_of_one_are_made_smaller_by_their_axes(shape: str, how: str) -> None:
    told = texts("batch_size = 1\nEpoch 2/9\n" + oom(shape, "net/dense/Relu"))
    assert any(how in text for text in told)


EVALUATE = """Traceback (most recent call last):
  File "train.py", line 340, in main
    run(hooks=hooks)
  File "/usr/lib/python2.7/site-packages/tensorflow/python/estimator/estimator.py", line 425, in {first}
    name=name)
  File "/usr/lib/python2.7/site-packages/tensorflow/python/estimator/estimator.py", line 1117, in {second}
    config=self._session_config)
"""


@pytest.mark.parametrize(
    ("first_frame", "second_frame", "evaluates"),
    [
        ("evaluate", "_evaluate_model", True),
        ("train", "_train_model", False),
        ("evaluate", "_train_model_default", False),
        ("fit", "test_on_batch", True),
        ("main_loop", "other", False),
    ],
)
def test_functions_of_an_estimator_or_of_keras_tell_the_phase(
    first_frame: str, second_frame: str, evaluates: bool
) -> None:
    text = EVALUATE.format(first=first_frame, second=second_frame) + oom("4,256,300,300", "net/conv/Conv2D")
    assert any(each.rule == "failed-in-evaluation" for each in explained(text).findings) is evaluates


@pytest.mark.parametrize(("turns", "capped"), [(5745, True), (1000, True), (999, False)])
def test_a_loop_of_thousands_of_steps_has_a_long_sample(turns: int, capped: bool) -> None:
    told = texts(oom(f"{turns},8,4096", "tower_0/bw/bw/TensorArrayStack/TensorArrayGatherV3"))
    assert any(text.startswith("cap the length: the longest") for text in told) is capped
