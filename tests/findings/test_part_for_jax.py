"""The part of a GPU that JAX may take: read in one place, and what it leaves the driver."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support import part_for_jax
from tfmemlens.model.report import Report

PART, PRE = part_for_jax.VARIABLE, "XLA_PYTHON_CLIENT_PREALLOCATE"
GRAPH = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to instantiate CUDA graph:"
    " CUDA_ERROR_OUT_OF_MEMORY: out of memory"
)
MODULE = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to load in-memory CUBIN (compiled for a"
    " different GPU?).: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
)


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(lines) + "\n")


def part(text: str) -> part_for_jax.Part | None:
    return part_for_jax.stated(pipeline.case(pipeline.capture(text)).capture.surroundings)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("=.95", "95 % of the GPU"),
        (" is set to 0.4", "40 % of the GPU"),
        ("=1.0", "100 % of the GPU"),
        ("=4.0", "4 times the GPU"),
    ],
)
def test_a_part_is_said_in_words(stated: str, words: str) -> None:
    found = part(f"{GRAPH}\njax 0.4.38, {PART}{stated}\n")
    assert found and found.words == words


@pytest.mark.parametrize("text", [f"{PART}=0", f"{PART}=on", "no setting at all"])
def test_what_is_no_part(text: str) -> None:
    assert part(f"{GRAPH}\n{text}\n") is None


@pytest.mark.parametrize(("now", "smaller"), [(".95", ".70"), (".75", ".65"), (".15", ".10")])
def test_a_smaller_part(now: str, smaller: str) -> None:
    assert part_for_jax.below(part(f"{GRAPH}\n{PART}={now}\n")) == smaller


@pytest.mark.parametrize("message", [GRAPH, MODULE])
def test_a_driver_without_memory_beside_a_large_pool(message: str) -> None:
    report = explained(message, f"env: {PART}=.97   jax 0.4.38, batch 1")
    assert "JAX is told to take 97 % of the GPU" in report.verdict
    assert report.actions[0].remedy.slug == "smaller-fraction"
    assert "smaller-input" not in [action.remedy.slug for action in report.actions]


def test_graphs_of_many_shapes_are_told_only_of_graphs() -> None:
    slugs = [[a.remedy.slug for a in explained(m, f"{PART}=.97").actions] for m in (GRAPH, MODULE)]
    assert "constant-shapes" in slugs[0] and "constant-shapes" not in slugs[1]


@pytest.mark.parametrize(
    "said", ["jax 0.4.38", f"{PART}=.60", f"{PART}=4.0", f"{PART}=.97 and {PRE}=false", f"TF {PART}=.97x"]
)
def test_no_large_pool_no_such_reason(said: str) -> None:
    if said.endswith("x"):
        report = pipeline.explain(GRAPH.replace("jaxlib.xla_extension.", "tensorflow.") + "\n")
    else:
        report = explained(GRAPH, said)
    assert "is told to take" not in report.verdict


def test_what_is_written_round_a_log_of_several_processes_holds_for_all() -> None:
    refused = (
        "W external/org_tensorflow/tensorflow/compiler/xla/service/platform_util.cc:205] unable to create"
        " StreamExecutor for CUDA:0: failed initializing StreamExecutor for CUDA device ordinal 0: INTERNAL:"
        " failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory"
        " reported: 42505273344"
    )
    report = explained(
        "three members on one A100 in a job",
        "#SBATCH --ntasks=3 --gres=gpu:a100:1",
        "0: I0217 08:11:40.513028 224173 member.py:31] jax member 0 of 3",
        f"1: 2022-02-17 08:11:47.901712: {refused}",
        f"2: 2022-02-17 08:11:47.903350: {refused}",
    )
    assert "line 2 shows that several tasks of this job are started" in report.verdict
    assert f"{PART}=.28" in (report.actions[0].remedy.code or "")


@pytest.mark.parametrize(("nodes", "of_the_pool"), [("no GPU on these nodes", False), ("two nodes", True)])
def test_a_part_of_no_gpu_is_no_limit(nodes: str, of_the_pool: bool) -> None:
    text = "RuntimeError: Resource exhausted: Out of memory while trying to allocate 85899345920 bytes."
    report = explained("import jax", f"the job has 200G ({nodes}), and dies", text, f"{PART}=0.1")
    assert ("limit-of-your-own" in {each.rule for each in report.findings}) is of_the_pool
    assert ("FRACTION" in "".join(each.remedy.code or "" for each in report.actions)) is of_the_pool
