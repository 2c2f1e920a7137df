"""A kernel with so many inputs that no map of pixels and channels is behind it."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import offered

NODE = "gradient_tape/sequential_1/dense_2/MatMul/MatMul"


@pytest.mark.parametrize(
    ("inputs", "first"),
    [
        (22_436_962, "fewer-features"),  # 2 x 11,218,481
        (401_408, "pool-first"),  # 56 x 56 x 128
        (123_008, "pool-first"),  # 62 x 62 x 32
        (8191 * 4096, "pool-first"),  # nothing rules a map out
        (8209 * 4096, "fewer-features"),
    ],
)
def test_columns_are_no_pixels(inputs: int, first: str) -> None:
    assert offered(oom(f"{inputs},512", NODE))[0] == first
