"""A log of a program's start alone: what was free of its GPU says more than a line of the CPU."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

AT = "2019-02-03 04:05:06.100000: I tensorflow/core/"
START = (
    AT
    + "platform/cpu_feature_guard.cc:141] Your CPU supports instructions that this TensorFlow binary was not"
    " compiled to use: AVX2 FMA\n" + AT + "common_runtime/gpu/gpu_device.cc:1405] Found device 0 with"
    " properties: \nname: {name} major: 6 minor: 1 memoryClockRate(GHz): 1.582\npciBusID: 0000:0a:00.0\n"
    "totalMemory: 8.00GiB freeMemory: {free}GiB\n"
)
CARD = "GeForce GTX 1080"


def test_little_that_was_free_at_the_start_is_what_such_a_log_tells() -> None:
    text = START.format(name=CARD, free="2.10")
    assert "only about 2.10 GiB of the GPU's about 8.00 GiB were free" in explained(text).verdict
    assert offered(text) == ["see-device-users"]


@pytest.mark.parametrize(("name", "free"), [(CARD, "7.81"), (CARD, "4.90"), ("NVIDIA Tegra X2", "2.10")])
def test_a_free_card_and_a_board_that_shares_its_ram_are_none(name: str, free: str) -> None:
    assert "were free when" not in explained(START.format(name=name, free=free)).verdict


def test_a_failure_below_it_is_told_first() -> None:
    failed = (
        "OOM when allocating tensor with shape[64,128,128,128] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    )
    report = explained(START.format(name=CARD, free="2.10") + failed)
    assert report.verdict.startswith("Out of memory")
