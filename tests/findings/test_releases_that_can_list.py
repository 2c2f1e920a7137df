"""Which release can list tensors, or write BFC's state, is said where the program's may be older."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline

OOM = "ResourceExhaustedError: OOM when allocating tensor of shape [4096] and type float\n"
SHOWN = "from TensorFlow 1.5 on", "(TensorFlow 2.1 and newer)"


@pytest.mark.parametrize(
    ("version", "told", "written"),
    [("", SHOWN, True), ("tensorflow 1.12.0\n", (), False), ("tensorflow 2.0.0\n", (), False)],
)
def test_the_first_release_is_said_of_an_unknown_one(
    version: str, told: tuple[str, ...], written: bool
) -> None:
    texts = [each.text for finding in pipeline.explain(version + OOM).findings for each in finding.remedies]
    assert [each for each in SHOWN if any(each in text for text in texts)] == list(told)
    assert any("BFC write its state" in text for text in texts) is written
