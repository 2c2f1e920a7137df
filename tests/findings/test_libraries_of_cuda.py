"""Libraries of CUDA that are missing or of another release, beside harmless warnings of host RAM."""

from __future__ import annotations

import pytest

from tests.findings.test_ended_after_a_warning import LARGE
from tfmemlens import pipeline
from tfmemlens.findings.support.cuda_libraries import release
from tfmemlens.model.report import Report

CUDNN = (
    "E tensorflow/stream_executor/cuda/cuda_dnn.cc:319] Loaded runtime CuDNN library: 7.4.2 but source was"
    " compiled with: 7.6.0.  CuDNN library major and minor version needs to match.\n"
)
MISSING = "Could not load dynamic library 'cudart64_101.dll'; dlerror: cudart64_101.dll not found\n"


def explained(text: str) -> Report:
    return pipeline.explain(text)


def test_a_cudnn_of_another_release_is_told_before_warnings_that_were_granted() -> None:
    found = explained(LARGE * 3 + CUDNN)
    assert "7.4.2 was loaded, and 7.6.0 is what it was built with" in found.verdict
    assert "no failure" not in found.verdict.lower()
    assert [each.remedy.slug for each in found.actions] == ["matching-driver"]


def test_the_warnings_alone_are_no_failure() -> None:
    assert explained(LARGE * 3).verdict.startswith("No failure")


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("Could not dlopen library 'libcudart.so.10.0'", "10.0"),
        ("Could not load dynamic library 'libcudart.so.11.0'", "11"),
        ("Could not load dynamic library 'libcudart.so.12'", "12"),
        ("'cudart64_101.dll' not found", "10.1"),
        ("'cudart64_90.dll' not found", "9.0"),
        ("'cudart64_110.dll' not found", "11"),
        ("'cudart64_12.dll' not found", "12"),
        ("Could not load dynamic library 'libcublas.so.10'", None),
        ("Could not find cuda drivers on your machine", None),
    ],
)
def test_the_release_of_cuda_that_a_library_is_of(text: str, of: str | None) -> None:
    assert release(text) == of


def test_missing_libraries_come_with_what_to_install() -> None:
    found = explained(MISSING)
    assert "runs on the CPU" in found.verdict
    assert "CUDA 10.1, which this build asks for (line 1)" in found.actions[0].remedy.text
    assert "PATH" in found.actions[0].remedy.text and "LD_LIBRARY" not in found.actions[0].remedy.text


def test_missing_libraries_are_told_beside_ram_that_is_short() -> None:
    found = explained("My memory is 8 GB and still not enough\n" + MISSING + LARGE)
    assert "the text says that the RAM is not enough (line 1)" in found.verdict
    assert "matching-driver" in [each.remedy.slug for each in found.actions[:3]]
    ended = explained("the script then fails\n" + LARGE)
    assert "the text says that the program ended (line 1)" in ended.verdict
    assert "matching-driver" not in [each.remedy.slug for each in ended.actions]
