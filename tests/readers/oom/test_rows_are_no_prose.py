"""TensorFlow's rows of a list are not read as what a person wrote."""

from __future__ import annotations

import pytest

from tfmemlens.readers.oom.report import is_of_a_list


@pytest.mark.parametrize(
    ("text", "of_a_list"),
    [
        ("  450.14MiB from net/conv/Conv2D", True),
        ("512B from gradients/Mean_grad/truediv", True),
        ("  Remaining 94 nodes with 29.03MiB", True),
        ("Current usage from device: /job:localhost/replica:0, allocator: GPU_0_bfc", True),
        ("It takes 450.14MiB from the second epoch on.", False),
        ("450.14MiB from the start, then it grows", False),
        ("Remaining nodes are idle, with 29 MiB each", False),
        ("The current usage from device zero grows", False),
    ],
)
def test_rows_of_a_list(text: str, of_a_list: bool) -> None:
    assert is_of_a_list(text) is of_a_list
