"""A GPU that is gone, or a driver in a bad state, that refuses next to nothing of pinned host RAM."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

REFUSED = (
    "E tensorflow/stream_executor/cuda/cuda_driver.cc:802] failed to alloc {size} bytes on host:"
    " CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    "W ./tensorflow/core/common_runtime/gpu/gpu_host_allocator.h:44] could not allocate pinned host memory of"
    " size: {size}\n"
)
LITTLE, MUCH = REFUSED.format(size=2304), REFUSED.format(size=4294967296)
OF_ROCM = (
    "E tensorflow/stream_executor/rocm/rocm_driver.cc:692] failed to alloc 1024 bytes on host:"
    " HIP_ERROR_OutOfMemory\n"
)
RULE = "lost-device"


def _rules(text: str) -> list[str]:
    return [each.rule for each in explained(text).findings]


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:03:00): 79, pid=311, GPU has fallen off the bus.\n" + LITTLE,
        "NVRM: Xid (PCI:0000:03:00): 79, pid=311, GPU has fallen off the bus.\n" + MUCH,
        LITTLE + "Unable to determine the device handle for GPU 0000:03:00.0: GPU is lost.\n",
        "The eGPU was unplugged while it ran, and this goes on for ever:\n" + LITTLE,
        "> When I unplug the card, the job keeps saying this.\n" + OF_ROCM,
        "GPU is lost.\nI cuda_driver.cc:789] failed to allocate 2.00G (2147483648 bytes) from device:"
        " CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
    ],
)
def test_a_gpu_that_is_gone(text: str) -> None:
    report = explained(text)
    assert "not there any more" in report.verdict and "Host RAM" not in report.verdict
    assert [each.remedy.slug for each in report.actions] == ["start-it-again", "why-it-went"]


@pytest.mark.parametrize(("times", "fires"), [(3, True), (2, False)])
def test_next_to_nothing_again_and_again(times: int, fires: bool) -> None:
    report = explained(LITTLE * times)
    assert (f"refused {times} times" in report.verdict) is fires
    assert ("Host RAM (not GPU memory) ran out" in report.verdict) is not fires
    assert ("smaller-pipeline" in offered(LITTLE * times)) is not fires


def test_whose_driver_it_is() -> None:
    code = [each.remedy.code for each in explained(OF_ROCM * 3).actions]
    assert code[0] == "dmesg -T | grep -i -E 'amdgpu|kfd'; rocm-smi"


@pytest.mark.parametrize(
    "text",
    [
        LITTLE,
        MUCH * 3,
        MUCH + LITTLE * 3,  # what is left of a ladder of tries
        "The RAM grows with each epoch.\n" + LITTLE * 3,
        "I unplugged the second monitor.\n" + LITTLE,
        "The memory of the device is lost to rounding.\n" + LITTLE,
        "While the GPU was disconnected I measured the power.\n" + MUCH,
        "NVRM: Xid (PCI:0000:03:00): 31, pid=311, MMU fault\n" + MUCH,
        "The GPU was unplugged before.\nI cuda_driver.cc:789] failed to allocate 2.00G (2147483648 bytes)"
        " from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
        "GPU is lost.\nOOM when allocating tensor with shape[64,112,112,64] and type float on /job:localhost/"
        "replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
    ],
)
def test_near_misses(text: str) -> None:
    assert RULE not in _rules(text)
