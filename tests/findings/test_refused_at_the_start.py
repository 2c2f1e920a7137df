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


OF_CUDA = (
    "E tensorflow/stream_executor/cuda/cuda_driver.cc:1018] could not allocate CUDA stream for context"
    " 0x55d0: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
STEPS = "Epoch 1/10\n100/100 [==============================] - 10s 100ms/step - loss: 0.5\n"
FULL = "| N/A   40C    P0    30W / 300W |  24001MiB / 24576MiB |      0%      Default |\n"


def test_another_process_may_take_a_gpu_of_cuda() -> None:
    text = CREATED.format(mib=9600) + OF_CUDA
    assert "CUDA runtime that does not fit this card" in explained(text).verdict
    assert "see-device-users" in offered(CREATED.format(mib=300) + OF_CUDA)
    assert "growth" not in offered(text)


@pytest.mark.parametrize(
    ("told", "refused"),
    [
        ("I set HSA_OVERRIDE_GFX_VERSION to 10.3.0 for my card.\n", True),
        ("export HSA_OVERRIDE_GFX_VERSION=11.0.0\n", True),
        ("What does HSA_OVERRIDE_GFX_VERSION do?\n", False),
        (OVERRIDE + CREATED.format(mib=300), False),
    ],
)
def test_an_override_without_the_device(told: str, refused: bool) -> None:
    assert ("gives it out as another card" in explained(told + REFUSED).verdict) is refused


@pytest.mark.parametrize("before", [STEPS, FULL])
def test_streams_that_are_not_the_first_or_a_full_device(before: str) -> None:
    assert "does not fit this card" not in explained(CREATED.format(mib=9600) + before + REFUSED).verdict


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


NOTHING = "E tensorflow/core/common_runtime/bfc_allocator.cc:244] tried to allocate 0 bytes\n"
RETRIED = "W tensorflow/core/common_runtime/allocator_retry.cc:32] Request to allocate 0 bytes\n"


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        (NOTHING, True),
        ("> " + NOTHING + "> " + RETRIED, True),
        (
            "## Known issues\n\nTensorFlow says `tried to allocate 0 bytes` where a picture has no boxes.\n",
            True,
        ),
        (NOTHING + RETRIED + "Segmentation fault (core dumped)\n", True),
        (
            NOTHING + "Epoch 1/10\n100/100 [==============================] - 10s 100ms/step - loss: 0.5\n",
            False,
        ),
        (NOTHING.replace(" 0 ", " 1024 "), False),
        (
            NOTHING + "ResourceExhaustedError: OOM when allocating tensor with shape[64,112,112,64] and type"
            " float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
            False,
        ),
    ],
)
def test_an_empty_request_that_is_only_logged(text: str, nothing: bool) -> None:
    verdict = explained(text).verdict
    assert ("an empty tensor was given to it, so no memory is short" in verdict) is nothing
