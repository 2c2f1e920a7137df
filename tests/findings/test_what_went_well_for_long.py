"""A failure of what went well for long, and of two GPUs the one that TensorFlow uses."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tests.findings.pages import explained, offered

_IMAGE = "\n\n" + oom("1,32,1024,1024", "net/conv_1/Conv2D")


@pytest.mark.parametrize(
    ("said", "long"),
    [
        ("I have been using this net for over 8 months and all of a sudden it fails:", True),
        ("It worked fine until yesterday.", True),
        ("I was able to train my net until yesterday.", True),
        ("Yesterday the same script ran well, today I get this:", True),
        ("It worked for 8 epochs and then failed.", False),
        ("I want to use it for two months of data.", False),
        ("It worked until I moved to TensorFlow 2.4.", False),
    ],
)
def test_something_else_changed(said: str, long: bool) -> None:
    told = [each.remedy.text for each in explained(said + _IMAGE).actions]
    assert any("see first what changed" in text for text in told) is long


def test_another_release_is_what_changed() -> None:
    said = "It worked fine until yesterday, when I updated to TensorFlow 2.4; with TensorFlow 2.3 it works."
    assert not any("see first what changed" in each.remedy.text for each in explained(said + _IMAGE).actions)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("My laptop has an Intel UHD 630 and a GeForce GTX 1650, and TensorFlow uses the Intel one.", True),
        ("In the task manager it is running on the integrated GPU, and my NVIDIA card is idle.", True),
        ("My laptop has an Intel UHD 630 and a GeForce GTX 1650.", False),
        ("It is running on the integrated GPU of a Ryzen.", False),
    ],
)
def test_the_gpu_within_the_cpu_is_not_used(said: str, told: bool) -> None:
    report = explained(said + _IMAGE)
    assert any("GPU:0 is the NVIDIA card" in each.headline for each in report.findings) is told
    assert offered(said + _IMAGE)
