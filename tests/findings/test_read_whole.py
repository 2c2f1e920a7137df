"""Lines of quoted programs that take a whole data set into host RAM, in texts without a message."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

SEQUENCE = """I fit a Keras model on Colab and it hits the RAM limit, the session is killed.

    class Batches(tf.keras.utils.Sequence):
        def __init__(self, dataset):
            self.dataset = dataset

        def __getitem__(self, at):
            return list(self.dataset.as_numpy_iterator())[at]
"""
ARRAY = """My notebook with Keras runs out of RAM in this line:

    train_tensors = paths_to_tensor(train_files).astype('float32') / 255
"""
KERNEL = """With keras the kernel died, it restarts in this line:
x_test, y_test = load_images('food/test', side=299)
The kernel appears to have died. It will restart automatically.
"""


def test_a_sequence_that_lists_its_data_set_is_named_with_what_does_without() -> None:
    report = pipeline.explain(SEQUENCE)
    assert "the list that line 8 makes of the whole data set, again for each batch" in report.verdict
    assert report.actions[0].remedy.code is not None
    assert report.actions[0].remedy.code.startswith("model.fit(train_ds)")


def test_a_call_for_all_files_is_named() -> None:
    verdict = pipeline.explain(ARRAY).verdict
    assert (
        "most likely all samples in one array, which `paths_to_tensor(train_files)` makes (line 3)" in verdict
    )


def test_a_kernel_that_died_while_all_is_read_may_have_lacked_ram() -> None:
    report = pipeline.explain(KERNEL)
    assert "the first suspect is host RAM, for all samples in one array" in report.verdict
    assert "a library crashed" in pipeline.explain(KERNEL.replace("load_images", "open_page")).verdict


@pytest.mark.parametrize(
    "line",
    [
        "    train_tensors = tensor.astype('float32') / 255",
        "    names = list(files)",
        "    x = load_image(path)",
        "    def __getitem__(self, at):\n        x = load_images(self.files[at])",
    ],
)
def test_what_takes_a_batch_or_no_data_is_not_named(line: str) -> None:
    text = f"My training with Keras runs out of RAM, it is killed.\n\n{line}\n"
    assert "whole data set" not in pipeline.explain(text).verdict
    assert "all samples in one array" not in pipeline.explain(text).verdict


@pytest.mark.parametrize(
    ("sentence", "cause"),
    [
        ("The problem is that get_item() must return a batch with an index.", False),
        ("The problem is that it must keep all images in memory.", True),
        ("The problem is that the decoder copies each picture.", True),
        ("The list has to hold all batches and thus hits the memory limit.", True),
    ],
)
def test_what_something_asks_for_is_no_cause(sentence: str, cause: bool) -> None:
    verdict = pipeline.explain(f"Training with Keras runs out of RAM.\n{sentence}\n").verdict
    assert ("names the cause" in verdict) is cause
