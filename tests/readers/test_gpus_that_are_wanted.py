"""A GPU that a text advises is none of the run's."""

from __future__ import annotations

import pytest

from tfmemlens.model.line import Line
from tfmemlens.readers.oom import named_devices


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("You need a high-end GPU (e.g. RTX 3060, VRAM 12GB) to run it.", False),
        ("I would get a larger card, an RTX 3090", False),
        ("I need help: my RTX 3090 runs out of memory", True),
        ("My GPU is an RTX 3090", True),
    ],
)
def test_a_gpu_that_is_advised_is_not_the_runs(text: str, known: bool) -> None:
    assert (named_devices.named(Line(1, text)) is not None) is known
