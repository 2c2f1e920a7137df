"""A device whose first streams are refused, and a request for nothing: no lack of memory."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

CREATED = (
    "I tensorflow/core/common_runtime/gpu/gpu_device.cc:1613] Created device /job:localhost/replica:0/task:0/"
    "device:GPU:0 with {mib} MB memory:  -> device: 0, name: AMD Radeon Graphics, pci bus id: 0000:2d:00.0\n"
)
REFUSED = (
    "E tensorflow/compiler/xla/stream_executor/rocm/rocm_driver.cc:573] could not allocate ROCM stream for"
    " device 0: HIP_ERROR_OutOfMemory\n"
)
OVERRIDE = "[me@here]$ HSA_OVERRIDE_GFX_VERSION=10.3.0 python train.py\n"


@pytest.mark.parametrize(("mib", "refused"), [(24060, True), (300, False)])
def test_streams_that_are_refused_beside_much_memory(mib: int, refused: bool) -> None:
    text = CREATED.format(mib=mib) + REFUSED
    assert ("does not fit this card" in explained(text).verdict) is refused
    assert ("growth" in offered(text)) is not refused


@pytest.mark.parametrize("override", [True, False])
def test_what_gives_the_card_out_as_another(override: bool) -> None:
    report = explained((OVERRIDE if override else "") + CREATED.format(mib=24060) + REFUSED)
    assert ("HSA_OVERRIDE_GFX_VERSION=10.3.0" in report.verdict) is override
    assert report.actions[0].remedy.text.startswith("leave the override out") is override


EIGEN = (
    "E tensorflow/core/common_runtime/bfc_allocator.cc:244] tried to allocate 0 bytes\n"
    "W tensorflow/core/common_runtime/allocator_retry.cc:32] Request to allocate 0 bytes\n"
    "F tensorflow/core/common_runtime/gpu/gpu_device.cc:104] EigenAllocator for GPU ran out of memory when"
    " allocating {size}. See error logs for more detailed info.\n"
)


@pytest.mark.parametrize(("size", "nothing"), [(0, True), (805306368, False)])
def test_an_old_release_that_is_asked_for_nothing(size: int, nothing: bool) -> None:
    verdict = explained(EIGEN.format(size=size)).verdict
    assert ("an empty tensor was given to it, so no memory is short" in verdict) is nothing
    assert ("768.00 MiB" in verdict) is not nothing
