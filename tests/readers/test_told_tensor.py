"""A tensor that somebody names in his own words, where no message is quoted."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.line import Line
from tfmemlens.readers.oom.told_tensor import told_tensor


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("it fails to allocate a tensor of shape (6, 480, 480, 32) in the third block", (6, 480, 480, 32)),
        ("OOM at the tensor [1,24,1280,1280], although 7 GB are free", (1, 24, 1280, 1280)),
        ("\u5f20\u91cf[2,32,720,720]\u5185\u5b58\u4e0d\u8db3", (2, 32, 720, 720)),
        ("Der Speicher ist voll beim Tensor [64,96,200,200]", (64, 96, 200, 200)),
        ("with input tensors of shape (32, 224, 224, 3) it runs out of memory", None),
        ("I allocate a tensor of shape (6, 480, 480, 32)", None),  # and nothing failed
        ("it fails to allocate a tensor of shape (6, 480)", None),  # next to nothing
        ("out of memory. See the tensors below. [6,480,480,32]", None),
        ("it fails to allocate a tensor of shape (0, 480, 480, 32)", None),
    ],
)
def test_the_shape_beside_words_of_a_failure(text: str, shape: tuple[int, ...] | None) -> None:
    told = told_tensor(Line(1, text))
    assert (told.shape if told else None) == shape


SAID = "it fails to allocate a tensor of shape (6, 480, 480, 32) in the third block\n"


def test_it_is_the_failure_where_no_message_is() -> None:
    report = pipeline.explain(SAID)
    assert report.verdict.startswith("Out of memory while allocating [6,480,480,32]")
    assert report.case.capture.source.formats == ("oom-in-words",)
    assert report.case.moments[0].request.failed.dtype is None  # type: ignore[union-attr]


def test_a_message_says_more_and_another_framework_has_its_own() -> None:
    assert "[4,8,8,2]" in pipeline.explain(SAID + oom("4,8,8,2")).verdict
    foreign = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    assert "[6,480,480,32]" not in pipeline.explain(SAID + foreign).verdict
    assert not pipeline.explain("import jax\n" + SAID).case.moments
    assert not pipeline.explain("import jax\nimport jax.numpy as jnp\n" + SAID).case.moments


def test_the_name_of_the_exception_adds_nothing_to_it() -> None:
    report = pipeline.explain("tensorflow.python.framework.errors_impl.ResourceExhaustedError:\n" + SAID)
    assert "[6,480,480,32]" in report.verdict
    assert len(report.case.moments) == 1


def test_one_large_image_in_words_is_not_blamed_on_the_batch() -> None:
    report = pipeline.explain("OOM at the tensor [1,24,1280,1280], although 7 GB are free\n")
    assert report.actions[0].remedy.slug == "smaller-input"
    assert "their sum is what fills it" in report.verdict


@pytest.mark.parametrize(
    ("text", "oldest", "newest"),
    [
        ("I use TF 2.6 here.", (2, 6), (2, 6)),
        ("\u5728Tensorflow 2.5\u4e0a", (2, 5), (2, 5)),
        ("It worked with TF 2.3, and fails with tensorflow-gpu 2.6", (2, 3), (2, 6)),
        ("It worked with TF 2.3, and fails now\nTensorFlow version: 2.8.0", (2, 8), (2, 8)),
        ("TensorFlow version (or its commit, if built from source): 2.7.1", (2, 7), (2, 7)),
        ("the tf 2.5 GB pool", (0, 5), (2, 99)),
        ("see my/tf2.5/notes", (0, 5), (2, 99)),
    ],
)
def test_versions_that_the_text_names(text: str, oldest: tuple[int, int], newest: tuple[int, int]) -> None:
    api = pipeline.explain(
        f"{text}\nResourceExhaustedError: OOM when allocating tensor with shape[4,8]and\n"
    ).case.api
    assert (api.oldest, api.newest) == (oldest, newest)


def test_prose_does_not_contradict_what_lines_show() -> None:
    said = oom("4,8", "sequential/conv2d/Relu").replace(
        "}}]]", "}} (defined at /usr/lib/python3.9/site-packages/keras/backend.py:5182)]]"
    )
    api = pipeline.explain("It worked with TF 1.15.\n" + said).case.api
    assert api.oldest == (2, 6)
