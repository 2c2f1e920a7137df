"""A program that was built with TensorFlow inside is no Python program; a cited line says what it is for."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

HEAD = "2022-10-06 19:35:37.574196: I {}tensorflow/core/common_runtime/bfc_allocator.cc:1066] "
INSIDE = "external/org_tensorflow/"


def dumped(path: str, more: str = "") -> Report:
    head = HEAD.format(path)
    blocks = [
        f"{head}InUse at 7f382e13{n:04x} of size {size} next {n + 9}"
        for n, size in enumerate((1792, 6912) * 3)
    ]
    return pipeline.explain(
        "\n".join(["# The container prints errors on GPU out of memory", *blocks, more, ""])
    )


@pytest.mark.parametrize(
    ("path", "more", "python"),
    [
        (INSIDE, "", False),
        ("", "", True),
        (INSIDE, '  File "/app/train.py", line 3, in <module>', True),
        (INSIDE, "model.fit(x, y)", True),
    ],
)
def test_a_program_with_tensorflow_inside_gets_no_python(path: str, more: str, python: bool) -> None:
    code = [action.remedy.code or "" for action in dumped(path, more).actions]
    assert any("python" in each for each in code) is python


def test_a_part_of_a_dump_is_of_the_gpu_that_the_text_names() -> None:
    assert "(a GPU's, by line 1)" in dumped(INSIDE).verdict


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("# Memory leak\nThe GPU memory is small.", "(line 2; line 3 names it)"),
        ("# GPU memory leak\nThe GPU memory is small.", "(line 2)"),
        ("# Memory leak\nThe RAM is small.", "(line 2; line 3 names it)"),
        ("# Memory leak\nNothing else is known.", "(line 2)"),
    ],
)
def test_the_line_that_names_the_memory_is_cited(text: str, cited: str) -> None:
    assert cited in pipeline.explain(f"Hello,\n{text}\n").verdict


@pytest.mark.parametrize(("said", "quoted"), [("is using about 28Gb", True), ("uses 28Gb of a GPU", False)])
def test_ram_in_use_is_quoted_from_where_it_stands(said: str, quoted: bool) -> None:
    text = f"Hello,\n# OOM errors in CPU mode\nThe server has about 32GB ram and {said} before it.\n"
    assert ("28Gb" in pipeline.explain(text).verdict) is quoted


@pytest.mark.parametrize(("more", "trains"), [("", False), ("I train it with model.fit first.", True)])
def test_what_only_predicts_is_no_evaluation_of_a_training(more: str, trains: bool) -> None:
    text = f"Hello,\nI get an OOM error while running inference with a session.\n{more}\n"
    code = [action.remedy.code or "" for action in pipeline.explain(text).actions]
    assert any("validation" in each or "model.fit" in each for each in code) is trains


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("With a batch size of 50 to train the model it runs out of GPU memory.", False),
        ("After 50 trained models it runs out of GPU memory.", True),
    ],
)
def test_a_number_before_another_thing_counts_no_models(text: str, models: bool) -> None:
    assert ("models before" in pipeline.explain(f"Hello,\n{text}\n").verdict) is models


@pytest.mark.parametrize(
    ("who", "grows"), [("When I increase the RAM it", False), ("The RAM increases, and it", True)]
)
def test_what_its_writer_increases_does_not_grow(who: str, grows: bool) -> None:
    text = f"Hello,\n{who} runs out of memory in training.\n"
    assert ("grows" in pipeline.explain(text).verdict) is grows


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("mpirun noticed that process rank 7 exited on signal 9 (Killed).", "read-the-kernel-log"),
        (
            "The RAM runs out.\nmpirun noticed that process rank 7 exited on signal 9 (Killed).",
            "shard-the-data",
        ),
    ],
)
def test_a_rank_that_was_killed_is_asked_for_proof_first(text: str, first: str) -> None:
    assert pipeline.explain(f"mpirun -np 8 python train.py\n{text}\n").actions[0].remedy.slug == first
