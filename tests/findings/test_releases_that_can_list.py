"""Which release can list tensors, or write BFC's state, is said where the program's may be older."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

OOM = "ResourceExhaustedError: OOM when allocating tensor of shape [4096] and type float\n"
SHOWN = "(TensorFlow 1.5 and newer)", "(TensorFlow 2.1 and newer)"


@pytest.mark.parametrize(
    ("version", "told", "written"),
    [("", SHOWN, True), ("tensorflow 1.12.0\n", (), False), ("tensorflow 2.0.0\n", (), False)],
)
def test_the_first_release_is_said_of_an_unknown_one(
    version: str, told: tuple[str, ...], written: bool
) -> None:
    texts = [action.remedy.text for action in pipeline.explain(version + OOM).actions]
    assert [each for each in SHOWN if any(each in text for text in texts)] == list(told)
    assert any("BFC write its state" in text for text in texts) is written
