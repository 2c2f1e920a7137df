"""A sum of several GPUs' memory is none of one, and none adds memory to one forecast."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.units import GIB

ASKED = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 5.96GiB"


@pytest.mark.parametrize(
    ("told", "gigabytes"),
    [
        ("4 GPUs, 48 vCPU and 64Gb GPU mem", 16),
        ("two GPUs, 48 GB of VRAM", 48),
        ("4 GPUs with 24 GB VRAM each", 24),
        ("4 GPUs, 52 GB of VRAM", None),
        ("a 24 GB card", 24),
    ],
)
def test_what_one_of_them_has(told: str, gigabytes: int | None) -> None:
    devices = pipeline.capture(f"graphcast on {told}\n{ASKED}\n").surroundings.named_devices
    assert [each.total.bytes // GIB for each in devices if each.total] == ([gigabytes] if gigabytes else [])


@pytest.mark.parametrize(("told", "several"), [("4 GPUs", True), ("one GPU", False)])
def test_one_forecast_is_computed_on_one(told: str, several: bool) -> None:
    verdict = pipeline.explain(f"Running graphcast on {told}\nimport jax\n{ASKED}\n").verdict
    assert "a weather model on the whole globe" in verdict
    assert ("add no memory to it" in verdict) is several
