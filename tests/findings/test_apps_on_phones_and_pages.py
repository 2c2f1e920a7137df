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
