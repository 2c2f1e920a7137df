"""Unified memory that a text sets already, under the names that containers give its variables."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = (
    "Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 86994681800"
    " bytes."
)
REFUSED = (
    "E external/xla/xla/stream_executor/{0} failed to allocate 81.02GiB (86994681856 bytes) from device: {1}"
)
ROCM = REFUSED.format("rocm/rocm_driver.cc:1268]", "HIP_ERROR_OutOfMemory")
CUDA = REFUSED.format("cuda/cuda_driver.cc:742]", "CUDA_ERROR_OUT_OF_MEMORY: out of memory")
SET = ("export {}TF_FORCE_UNIFIED_MEMORY=1", "export {}XLA_PYTHON_CLIENT_MEM_FRACTION=4.0")
PLATFORM = "export XLA_PYTHON_CLIENT_ALLOCATOR=platform"


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(["import jax", "alphafold model_1, 4100 residues", *lines, ASKED, ""]))


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize("prefix", ["", "SINGULARITYENV_", "APPTAINERENV_"])
def test_what_a_container_is_given_is_set(prefix: str) -> None:
    found = slugs(explained(*(line.format(prefix) for line in SET)))
    assert "unified-memory" not in found and "more-unified-memory" in found


@pytest.mark.parametrize(
    "manifest",
    [
        ("- name: TF_FORCE_UNIFIED_MEMORY", '  value: "1"'),
        ('{"name": "TF_FORCE_UNIFIED_MEMORY", "value": "1"},',),
        ('"name": "TF_FORCE_UNIFIED_MEMORY",', '"value": "true"'),
        ("ENV TF_FORCE_UNIFIED_MEMORY 1",),
    ],
)
def test_what_a_manifest_gives_is_set(manifest: tuple[str, ...]) -> None:
    assert "unified-memory" not in slugs(explained(*manifest))


@pytest.mark.parametrize(
    "other",
    [
        ("MYENV_TF_FORCE_UNIFIED_MEMORY=1",),
        ("- name: TF_FORCE_UNIFIED_MEMORY", '  value: "0"'),
        ("- name: TF_FORCE_UNIFIED_MEMORY", "  valueFrom:"),
        ("- name: MODEL", '  value: "1"'),
    ],
)
def test_what_is_not_set(other: tuple[str, ...]) -> None:
    assert "unified-memory" in slugs(explained(*other))


def test_a_refusal_of_the_devices_memory_shows_that_it_is_not_in_effect() -> None:
    lines = [line.format("") for line in SET]
    rocm = explained(*lines, ROCM)
    assert "was not in effect: line 5 asks for memory `from device`: on AMD's GPUs" in rocm.verdict
    assert slugs(rocm)[0] == "newer-release" and "more-unified-memory" not in slugs(rocm)
    cuda = explained(*lines, CUDA)
    assert "AMD" not in cuda.verdict and slugs(cuda)[0] == "set-before-import"
    platform = explained(*lines, PLATFORM, ROCM)
    assert "ALLOCATOR=platform (line 5) goes round the pool" in platform.verdict
    assert slugs(platform)[0] == "pool-for-unified-memory"
    assert "a newer jaxlib, too" in platform.actions[0].remedy.text


def test_without_the_setting_such_a_refusal_says_nothing_of_it() -> None:
    assert "in effect" not in explained(ROCM).verdict
    assert "in effect" not in explained(*(line.format("") for line in SET)).verdict
