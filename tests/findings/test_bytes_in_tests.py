"""Requests of a few bytes that fail in test after test are no lack of memory."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

LINE = (
    "FAILED tests/core_test.py::CoreTest::test_{} - RuntimeError: Resource exhausted: Out of memory while"
    " trying to allocate {} bytes."
)


def verdict(*sizes: int, line: str = LINE) -> str:
    text = "\n".join(line.format(number, size) for number, size in enumerate(sizes))
    return pipeline.explain(f"import jax\n{text}\n").verdict


@pytest.mark.parametrize(
    ("sizes", "line", "broken"),
    [
        ((24, 4, 16), LINE, True),
        ((24, 24, 24, 24), LINE, True),
        ((24, 4), LINE, False),  # two tests
        ((24, 4, 512_000_000), LINE, False),  # one that needs something
        ((24, 4, 16), LINE.replace("FAILED tests/core_test.py::", "step "), False),  # steps of a training
    ],
)
def test_a_build_is_to_blame(sizes: tuple[int, ...], line: str, broken: bool) -> None:
    assert ("allocator of this build" in verdict(*sizes, line=line)) is broken
