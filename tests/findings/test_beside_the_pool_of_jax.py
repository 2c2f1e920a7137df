"""The driver's own memory for JAX's programs: graphs, code and kernels that lie outside JAX's pool."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ERROR = "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
EARLY = (
    "INTERNAL: Failed to instantiate GPU graphs: CaptureGpuGraph failed (Failed to get module function:"
    f"{ERROR})"
)
GRAPH = f"RESOURCE_EXHAUSTED: Failed to add kernel node to a CUDA graph: {ERROR}"
FUNCTION = f"RESOURCE_EXHAUSTED: CUDA error: Failed to get module function: {ERROR}"
LAUNCH = f"INTERNAL: Failed to launch CUDA kernel: loop_fusion_14; block dims: 256x1x1; grid dims: 9: {ERROR}"


def explained(message: str, *said: str) -> Report:
    return pipeline.explain("\n".join(["import jax", f"XlaRuntimeError: {message}", *said, ""]))


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (EARLY, "for a CUDA graph of a compiled program (outside JAX's pool, which takes 75 %"),
        (GRAPH, "for a CUDA graph of a compiled program (outside JAX's pool, which takes 75 %"),
        (FUNCTION, "for the code of one more compiled program"),
        (LAUNCH, "to start a kernel of a compiled program (its code and the stack of its threads"),
    ],
)
def test_what_the_driver_had_no_memory_for_is_named(message: str, words: str) -> None:
    report = explained(message)
    assert words in report.verdict
    assert slugs(report)[0] == "smaller-fraction"
    assert "smaller-batch" not in slugs(report)


def test_each_runtime_has_a_flag_of_its_own() -> None:
    code = [" ".join(a.remedy.code or "" for a in explained(m).actions) for m in (EARLY, GRAPH)]
    assert "XLA_FLAGS=--xla_gpu_graph_level=0" in code[0]
    assert "graph_level" not in code[1] and "XLA_FLAGS=--xla_gpu_enable_command_buffer= " in code[1]


@pytest.mark.parametrize("flag", ["--xla_gpu_enable_command_buffer=", "--xla_gpu_graph_level=0"])
def test_graphs_that_are_off_are_not_to_be_switched_off(flag: str) -> None:
    off = explained(GRAPH, f'export XLA_FLAGS="{flag}"')
    assert "XLA_FLAGS" not in "".join(action.remedy.code or "" for action in off.actions)
    on = explained(GRAPH, 'export XLA_FLAGS="--xla_gpu_enable_command_buffer=FUSION"')
    assert "XLA_FLAGS" in "".join(action.remedy.code or "" for action in on.actions)


def test_a_pool_that_grows_is_no_pool_that_is_taken_at_start() -> None:
    report = explained(FUNCTION, "XLA_PYTHON_CLIENT_PREALLOCATE=false")
    assert "at its start" not in report.verdict
    assert report.actions[0].remedy.text.startswith("leave the driver room: a pool that grows")


def test_neither_a_request_nor_another_framework_is_meant() -> None:
    of_size = f"failed to allocate 3.90G (4188778496 bytes) from device: {ERROR}"
    assert "outside JAX's pool" not in explained(of_size).verdict
    text = f"import tensorflow as tf\ntensorflow.errors.InternalError: {FUNCTION}\n"
    assert "JAX" not in pipeline.explain(text).verdict
