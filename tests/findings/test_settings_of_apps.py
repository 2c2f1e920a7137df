"""Applications with windows or specification files, whose users change settings and write no code."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

OOM = "Resource exhausted: OOM when allocating tensor with shape[{shape}] and type float on {place}\n"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
CPU = "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n\t [[{{node conv2d_3/convolution}}]]"


def texts_of(text: str) -> str:
    return "\n".join(action.remedy.text for action in explained(text).actions)


FACESWAP = (
    "faceswap crashes. I set the batch size to {batch}.\n01/05/2023 19:23:58 ERROR    Caught exception in"
    " thread: '_training'\n01/05/2023 19:23:58 ERROR    You do not have enough GPU memory available to train"
    " the selected model at the selected settings. You can try:\n"
)


@pytest.mark.parametrize(("batch", "smaller"), [(2, False), (16, True)])
def test_a_message_of_faceswap_s_own(batch: int, smaller: bool) -> None:
    told = texts_of(FACESWAP.format(batch=batch))
    assert "`Mixed Precision` on" in told
    assert ("`Batch Size` of the Train tab" in told) is smaller


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("I train in faceswap:\n", "`Batch Size` of the Train tab"),
        ("==     models_opt_on_gpu: True       ==\n", "`batch_size`, asked for at its start"),
        ("training_config {\n  batch_size_per_gpu: 8\n}\n", "`batch_size_per_gpu` of `training_config`"),
        ("I train a net:\n", ""),
    ],
)
def test_where_the_batch_is_set(text: str, setting: str) -> None:
    told = texts_of(text + OOM.format(shape="8,64,272,480", place=GPU))
    assert setting in told if setting else "`" not in told.partition("halve the batch")[2].partition(":")[0]


SPEC = "  preprocessing {{\n    output_image_width: {width}\n    output_image_height: 1088\n  }}\n"


@pytest.mark.parametrize(("width", "times"), [(1920, 1), (1000, 1)])
def test_a_size_is_named_once(width: int, times: int) -> None:
    text = f"batch_size_per_gpu: 16\n{SPEC.format(width=width)}"
    told = texts_of(text + OOM.format(shape="16,64,272,480", place=GPU))
    assert told.count("output_image_width") == times


@pytest.mark.parametrize(
    ("text", "of_the_app"),
    [
        ("\tat de.csbdresden.stardist.StarDist2D.run(StarDist2D.java:280)\n", True),
        ("I run the StarDist plugin in Fiji on one image.\n", True),
        ("I train StarDist, tifffile.imwrite(path, x, imagej=True)\n", False),
    ],
)
def test_a_plug_in_of_fiji_trains_nothing(text: str, of_the_app: bool) -> None:
    text += OOM.format(shape="1,32,15008,14016", place=CPU)
    assert ("`Number of Tiles`" in texts_of(text)) is of_the_app
    assert ("training would keep" in explained(text).verdict) is not of_the_app
    assert "predict_instances" not in texts_of(text) or not of_the_app


def test_another_program_has_no_such_settings() -> None:
    assert "smaller-model" not in offered(f"I train a net.\n{OOM.format(shape='8,64,272,480', place=GPU)}")


NGRAMS = (
    "MemoryError: Unable to allocate 18.3 GiB for an array with shape (24150, 101702) and data type int64\n"
)
FLAT = "MemoryError: Unable to allocate 18.3 GiB for an array with shape (2456076300,) and data type int64\n"


@pytest.mark.parametrize(
    ("text", "of_ngrams"),
    [
        (f"rasa train\n- name: DIETClassifier\n{NGRAMS}", True),
        (f"python train.py\n{NGRAMS}", False),
        (f"rasa train\n{FLAT}", False),
    ],
)
def test_columns_of_n_grams(text: str, of_ngrams: bool) -> None:
    slugs = offered(text)
    assert ("fewer-entries" in slugs) is of_ngrams
    assert ("map-the-file" in slugs) is not of_ngrams


@pytest.mark.parametrize(
    ("line", "of_a_test"),
    [
        ("E   AssertionError: assert 'OOM when allocating tensor' in 'failed to allocate memory'", True),
        ("E   Failed: DID NOT RAISE <class 'tensorflow.errors.ResourceExhaustedError'>", True),
        (
            "E   AssertionError: assert 'a loss' in 'OOM when allocating tensor with shape[64,512,512,64]'",
            False,
        ),
        ("E   Failed: DID NOT RAISE <class 'ValueError'>", False),
    ],
)
def test_a_test_that_expects_an_error(line: str, of_a_test: bool) -> None:
    text = f"    with pytest.raises(tf.errors.ResourceExhaustedError) as e:\n{line}\n"
    assert ("a test expects an out-of-memory error" in explained(text).verdict) is of_a_test
