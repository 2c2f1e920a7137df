"""OpenCL on phones, and WebGL in a page: whose memory it was, and what one call alone tells."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

SHADER = "Error: Failed to compile fragment shader.\n"


def explained(text: str) -> Report:
    return pipeline.explain(text)


@pytest.mark.parametrize(
    "text",
    [
        "Failed to build program executable - Out of host memoryError: Program not built!\n",
        "clBuildProgram: CL_OUT_OF_HOST_MEMORY\n",
    ],
)
def test_host_memory_of_opencl_is_no_buffer_of_the_gpu(text: str) -> None:
    report = explained(text)
    assert report.verdict.startswith("OpenCL found no host memory")
    assert "buffer or picture" not in report.verdict
    assert report.actions[0].remedy.slug == "smaller-model"


def test_a_buffer_is_one() -> None:
    text = "Failed to allocate device memory (clCreateBuffer): Memory object allocation failure\n"
    assert "buffer or picture" in explained(text).verdict


@pytest.mark.parametrize(
    "said", ["all 2 GB are exhausted in a single prediction", "it is out of memory at the first inference"]
)
def test_one_call_that_fills_the_gpu_is_no_leak(said: str) -> None:
    report = explained(SHADER + said + "\n")
    assert "one call fills it" in report.verdict
    slugs = [each.remedy.slug for each in report.actions]
    assert slugs[0] == "smaller-input" and not {"tidy-textures", "count-tensors"} & set(slugs)


@pytest.mark.parametrize(
    "said", ["it is fine for one prediction", "after many predictions it is out of memory"]
)
def test_many_calls_may_be_one(said: str) -> None:
    assert "tidy-textures" in [each.remedy.slug for each in explained(SHADER + said + "\n").actions]


LOCK = 'File "/usr/lib/python3.9/multiprocessing/synchronize.py", line 57, in __init__\n'
FULL = "OSError: [Errno 28] No space left on device\n"


def test_a_lock_that_finds_no_space_is_of_shared_memory() -> None:
    assert "/dev/shm" in explained(LOCK + FULL).verdict
    assert explained(LOCK + FULL).actions[0].remedy.slug == "more-shared-memory"
    assert "the disk was full" in explained(FULL).verdict
    far = explained(LOCK + "step done\n" * 40 + FULL)
    assert "the disk was full" in far.verdict


def test_allocators_of_others_are_known_by_their_old_messages() -> None:
    assert "under DirectML" in explained("F dml_allocator.cc:97] DML allocator out of memory!\n").verdict
    old = "THCudaCheck FAIL file=/torch/aten/src/THC/THCStorage.cu line=58 error={}\n"
    assert "is PyTorch's" in explained(old.format("2 : out of memory")).verdict
    assert "is PyTorch's" not in explained(old.format("8 : invalid device function")).verdict


@pytest.mark.parametrize(
    "said", ["The VRAM didn't increase when I doubled the data", "\u663e\u5b58\u6ca1\u6709\u53d8\u5316"]
)
def test_memory_that_stays_does_not_grow(said: str) -> None:
    assert explained(said + "\n").case.capture.surroundings.shows("growing in words") is None


@pytest.mark.parametrize(
    "said",
    [
        "The GPU memory does not stop growing",
        "GPU memory does not grow, but RAM keeps growing with each epoch",
        "\u663e\u5b58\u6ca1\u6709\u53d8\u5316\uff0c\u5185\u5b58\u8d8a\u6765\u8d8a\u5927",
    ],
)
def test_memory_that_grows_does(said: str) -> None:
    assert explained(said + "\n").case.capture.surroundings.shows("growing in words")
