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


@pytest.mark.parametrize(("said", "quoted"), [("is using about 28Gb", True), ("is new", False)])
def test_ram_in_use_is_quoted_from_where_it_stands(said: str, quoted: bool) -> None:
    text = f"Hello,\n# OOM errors in CPU mode\nThe server has about 32GB ram and {said} before it.\n"
    assert ("28Gb" in pipeline.explain(text).verdict) is quoted
