"""What kills a program on a TPU's host is host RAM: its advice applies there, too."""

from __future__ import annotations

import pytest

from tests.findings.pages import offered
from tfmemlens import pipeline
from tfmemlens.findings.support.situation import situation
from tfmemlens.knowledge.device_names import TPU

STARTS = "import jax\nI train on a TPU v3-8 in Colab.\n"


def test_the_kernels_log_of_the_host_is_asked() -> None:
    assert offered(STARTS + "After some minutes it always got killed.\n")[0] == "read-the-kernel-log"


@pytest.mark.parametrize(
    "said, device",
    [
        ("It got killed after a while.\n", None),
        ("The host RAM is full after a while.\n", None),
        ("It runs out of memory.\n", TPU),
        ("The HBM is full after a while.\n", TPU),
    ],
)
def test_words_of_the_host_are_of_no_tpu(said: str, device: str | None) -> None:
    assert situation(pipeline.explain(STARTS + said).case).device == device
