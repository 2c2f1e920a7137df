"""A message that names neither tensor nor size: what the words beside it say of the run."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

BARE = "\nResourceExhaustedError                    Traceback (most recent call last)\n"
CALL = "----> 4 model.fit(x, y, epochs=2, batch_size=8)\n"


@pytest.mark.parametrize(
    ("words", "trains"),
    [
        ("# OOM when it runs multi GPU training", True),
        ("It fails when I train a detector with TensorFlow.", True),
        ("It fails in the actual training with TensorFlow.", True),
        ("After training it fails in my TensorFlow script.", False),
        ("The training data are images, TensorFlow.", False),
        ("I run inference with a model that I train elsewhere, TensorFlow.", False),
    ],
)
def test_words_say_that_it_trains(words: str, trains: bool) -> None:
    texts = [action.remedy.text for action in explained(f"{words}\n{BARE}").actions]
    assert any(text.startswith("train with a smaller batch") for text in texts) is trains


@pytest.mark.parametrize(
    ("words", "slug", "says"),
    [
        ("On a TPU my model with 900 million parameters fails.", "smaller-model", "takes 13.41 GiB"),
        ("On a TPU my model with 60 million parameters fails.", "smaller-batch", "a whole copy of the model"),
    ],
)
def test_each_core_of_a_tpu_keeps_the_whole_model(words: str, slug: str, says: str) -> None:
    report = explained(f"{words} tensorflow\n{BARE}{CALL}")
    assert report.actions[0].remedy.slug == slug
    assert says in report.verdict
    assert "HBM" in report.actions[1].remedy.text


@pytest.mark.parametrize(
    "words",
    ["My model with 900 million parameters fails.", "On a TPU it runs, the memory of my GPU is too small."],
)
def test_a_failure_that_is_no_tpus_is_told_without_cores(words: str) -> None:
    report = explained(f"{words} tensorflow\n{BARE}{CALL}")
    assert "each core keeps" not in report.verdict
    assert "(8 -> 4)" in report.actions[0].remedy.text


@pytest.mark.parametrize(
    ("message", "trial"),
    [
        ("# Profiling failure on CUDNN engine 0: RESOURCE_EXHAUSTED: Out of memory", True),
        ("# RESOURCE_EXHAUSTED: Out of memory", False),
    ],
)
def test_a_trial_of_an_algorithm_is_no_end_by_itself(message: str, trial: bool) -> None:
    report = explained(f"{message}. I train with model_main_tf2.py, tensorflow\n")
    assert ("a trial of one of cuDNN's algorithms" in report.verdict) is trial
    assert ("whether the run went on" in report.actions[-1].remedy.text) is trial


SAVES = """# image2image resource exhausted error

Traceback (most recent call last):
  File "train.py", line 225, in <module>
    trainer.train()
  File "site-packages/tensorflow/python/training/saver.py", line 1363, in save
    {self.saver_def.filename_tensor_name: checkpoint_file})
  File "site-packages/tensorflow/python/client/session.py", line 766, in run
"""


@pytest.mark.parametrize(
    ("text", "of_a_file"),
    [
        (SAVES, True),
        (SAVES.replace("resource exhausted error", "runs out of memory"), False),
        (SAVES.replace("saver.py", "session_hook.py"), False),
    ],
)
def test_a_heading_alone_above_a_traceback_that_saves(text: str, of_a_file: bool) -> None:
    report = explained(text)
    assert ("in a traceback that writes a file" in report.verdict) is of_a_file
    assert ([each.remedy.slug for each in report.actions] == ["room-for-files"]) is of_a_file
