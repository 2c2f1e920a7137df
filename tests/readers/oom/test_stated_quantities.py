"""Quantities that a writer states in words and flags, with the names that he gives them."""

from __future__ import annotations

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom.quoted_code import QuotedCode


def stated(text: str) -> list[tuple[str, tuple[int, ...]]]:
    quoted = QuotedCode()
    quoted.observe(Line(1, text))
    return [(each.name, each.sizes) for each in quoted.sizes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py --batch-size 16 --img-size=640", [("batch-size", (16,)), ("img-size", (640,))]),
        ("I use a batch size of 2", [("batch size", (2,))]),
        ("with the sequence length set to 2048", [("sequence length", (2048,))]),
        ("number of classes is 21,841", [("number of classes", (21841,))]),
        ("my images are 1024*768*3", [("", (1024, 768, 3))]),
        ('--train_crop_size="769,769"', [("train_crop_size", (769, 769))]),
    ],
)
def test_a_quantity_has_its_name(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    found = stated(text)
    assert [each for each in found if each in expected] == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I reduced the batch size from 64 to 2", "batch size"),
        ("a batch size of 2.5k", "batch size"),
        ("an image size of 512x512", "image size"),
        ("pip install tensorflow-gpu 2", "tensorflow-gpu"),
    ],
)
def test_what_is_no_such_quantity_has_no_name(text: str, name: str) -> None:
    assert name not in [each for each, _ in stated(text)]


def test_a_product_in_code_is_no_image() -> None:
    assert all(len(sizes) == 1 for _, sizes in stated("memory_limit_of_frames = 1024*1024*3"))
