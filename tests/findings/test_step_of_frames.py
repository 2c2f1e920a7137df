"""A step of frames that is given in milliseconds beside a length in samples."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained

PROGRAM = """import tensorflow as tf
sample_rate = 16000
win_ms = 25
hop_ms = 10
def spectrogram(wav):
    length = {length}
    s = tf.signal.stft(wav, frame_length=length, frame_step={step})
    return tf.abs(s)
"""
CONVERTED = "sample_rate * win_ms // 1000"


@pytest.mark.parametrize(
    ("length", "step", "told"),
    [
        (CONVERTED, "hop_ms", True),
        ("int(sample_rate * win_ms / 1000)", "hop_ms", True),
        (CONVERTED, "sample_rate * hop_ms // 1000", False),
        (CONVERTED, "hop", False),  # of what unit nobody says
        ("400", "hop_ms", False),
        ("win_ms", "hop_ms", False),  # in whatever unit, both are alike
    ],
)
def test_the_step_is_in_samples(length: str, step: str, told: bool) -> None:
    found = explained(PROGRAM.format(length=length, step=step) + oom("76176,512", "frontend/stft/rfft"))
    assert ("10 samples, not 10 ms (160): 16 times the frames" in found.verdict) is told
    assert (found.actions[0].remedy.slug == "step-in-samples") is told
