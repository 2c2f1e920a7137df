"""Words of data sets made again and again, of volumes, of another release; the head of a dump alone."""

from __future__ import annotations

import pytest

from tests.findings.logs import dump
from tfmemlens import pipeline
from tfmemlens.model.report import Report
from tfmemlens.readers.oom.purpose import GROWING
from tfmemlens.readers.oom.told_besides import ANOTHER_RELEASE, DATA_MADE_ANEW, VOLUMES


def explained(text: str) -> Report:
    return pipeline.explain(text + "\n")


@pytest.mark.parametrize(
    ("text", "anew"),
    [
        ("I need to re-create the dataset after each epoch", True),
        ("we build tf.data again and again", True),
        ("the data set is made once", False),
        ("create a dataset from files", False),
    ],
)
def test_what_says_that_data_sets_are_made_anew(text: str, anew: bool) -> None:
    assert bool(DATA_MADE_ANEW.search(text)) is anew


def test_a_data_set_made_anew_is_most_likely_what_stays() -> None:
    text = (
        "import tensorflow as tf\nI have to create the dataset again and again.\nThen it runs out of memory."
    )
    report = explained(text)
    assert report.findings[0].rule == "named-growth"
    assert "memory ran out (line 3)" in report.verdict
    assert report.actions[0].remedy.slug == "make-once"
    once = explained(text.replace("again and again", "once"))
    assert "named-growth" not in [finding.rule for finding in once.findings]


@pytest.mark.parametrize(
    ("text", "grows"),
    [
        ("With every epoch more RAM is taken", True),
        ("After each batch, more GPU memory is in use", True),
        ("could it be a memory accumulation?", True),
        ("each epoch takes more time; memory is fine", False),
    ],
)
def test_words_of_growth(text: str, grows: bool) -> None:
    assert bool(GROWING.search(text)) is grows


@pytest.mark.parametrize(
    ("text", "volumes"),
    [
        ("a 3D U-Net on CT scans", True),
        ("model.add(Conv3D(24, 3))", True),
        ("a Conv2D on 3 days", False),
        ("I plot it in 3d", False),
    ],
)
def test_words_of_volumes(text: str, volumes: bool) -> None:
    assert bool(VOLUMES.search(text)) is volumes


def test_volumes_are_made_smaller_before_the_batch() -> None:
    text = "My tf.keras 3D CNN runs out of memory on the GPU."
    assert explained(text).actions[0].remedy.slug == "smaller-input"
    assert explained(text.replace("3D CNN", "CNN")).actions[0].remedy.slug != "smaller-input"


def test_a_bare_message_of_another_release_goes_back() -> None:
    said = "ResourceExhaustedError: Graph execution error\n"
    report = explained(f"import tensorflow as tf\nI get an OOM with TF 2.6, and it ran under 2.5\n{said}")
    assert "it began with another release (line 2)" in report.verdict
    assert report.actions[0].remedy.slug == "newer-release"
    assert not ANOTHER_RELEASE.search("I get an OOM with TF 2.6 on a card of 2.5 GB")


HEAD = (
    "2020-09-25 08:14:55.3: W tensorflow/core/common_runtime/bfc_allocator.cc:431] Allocator (GPU_0_bfc) ran"
    " out of memory trying to allocate 96.00MiB (rounded to 100663296)requested by op "
)


@pytest.mark.parametrize(
    ("op", "batch"),
    [("model/block_4/dense_9/mul_2", True), ("Adam/dense_9/kernel/m/Initializer/zeros", False)],
)
def test_the_head_of_a_dump_names_a_layer_whose_batch_may_be_smaller(op: str, batch: bool) -> None:
    report = explained(HEAD + op)
    assert ("smaller-batch" in [action.remedy.slug for action in report.actions]) is batch


def test_a_whole_dump_says_more_than_its_head() -> None:
    rules = [finding.rule for finding in pipeline.explain(dump(96, 400, 390, (2,))).findings]
    assert "request-alone" not in rules
