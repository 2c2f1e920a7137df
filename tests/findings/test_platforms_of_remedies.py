"""Remedies that belong to a platform: CUDA's, Apple's, Go's."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.findings.support.applicability import TABLE
from tfmemlens.findings.support.situation import Situation
from tfmemlens.model.report import Report


def explained(*lines: str) -> Report:
    return pipeline.explain("Hello,\n" + "\n".join(lines) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


GROWS = "Keras is using all of the GPU memory, and memory usage goes up until nothing is left."


@pytest.mark.parametrize(
    ("lines", "of_cuda"),
    [
        (("MacBook Air with M2, tensorflow-metal", GROWS), False),
        (("I read about tensorflow-metal, but have an RTX 3060 on Linux", GROWS), True),
        (("Ubuntu 22.04", GROWS), True),
        (("Mac OS 12, in a Kaggle notebook", GROWS), True),
    ],
)
def test_apples_gpu_has_no_settings_of_cuda(lines: tuple[str, ...], of_cuda: bool) -> None:
    assert ("growth" in slugs(explained(*lines))) is of_cuda


def test_what_is_of_cuda_is_not_offered_for_apples_gpu() -> None:
    apple = Situation(settings=frozenset(("gpu=Apple",)), training=True)
    assert not TABLE["growth"].holds(apple)
    assert TABLE["smaller-batch"].holds(apple)


def test_the_device_of_ml_compute_is_chosen_by_its_own_call() -> None:
    report = explained(
        "```", "from tensorflow.python.compiler.mlcompute import mlcompute",
        "mlcompute.set_mlc_device(device_name='gpu')", "```", GROWS,
    )  # fmt: skip
    first = report.actions[0].remedy
    assert first.slug == "compare-with-cpu"
    assert "set_mlc_device" in (first.code or "")


FORM = (
    "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Ubuntu 20.04, Mac OS",
    "- Python version: not used",
    "- GPU model and memory: none",
    "Our service runs the model from Go, and memory usage goes up until it restarts; the Go heap is flat.",
)


def test_a_program_of_go_on_the_cpu_of_several_systems() -> None:
    report = explained(*FORM)
    assert slugs(report)[:1] == ["close-tensors-of-go"]
    several = explained(*FORM[:-1], FORM[-1].replace("the model", "the model with several inputs"))
    assert slugs(several)[:2] == ["one-order-of-feeds", "close-tensors-of-go"]
    assert not any("psutil" in (action.remedy.code or "") for action in report.actions)


def test_the_game_of_go_is_no_language() -> None:
    report = explained("The net plays Go, and the memory usage goes up with every game until it restarts.")
    assert "one-order-of-feeds" not in slugs(report)


@pytest.mark.parametrize(
    ("said", "none"),
    [("GPU model and memory: not used", True), ("GPU model and memory: Tesla T4, none free", False)],
)
def test_the_form_says_whether_there_is_a_gpu(said: str, none: bool) -> None:
    report = explained(said, "memory usage goes up with each call")
    assert ("host RAM" in report.verdict) is none


@pytest.mark.parametrize(
    ("said", "alike"),
    [
        ("My GTX 1050 runs out of memory with this net. The same error comes with the CPU, too.", True),
        ("My GTX 1050 runs out of memory with this net, and it fails both on CPU and GPU.", True),
        ("My GTX 1050 runs out of memory with this net. It is fine on the CPU, too.", False),
        ("My GTX 1050 runs out of memory with this net. Both CPU and GPU are new.", False),
    ],
)
def test_what_fails_on_the_cpu_too_is_not_the_gpus_alone(said: str, alike: bool) -> None:
    report = explained(*said.split(". "))
    assert ("on CPU and GPU alike" in report.verdict) is alike
    asked = any(action.remedy.code == "nvidia-smi" for action in report.actions)
    assert not (alike and asked)


@pytest.mark.parametrize(("backend", "asked"), [("MPS backend", "torch.mps"), ("CUDA", "torch.cuda")])
def test_pytorch_is_asked_for_the_memory_of_its_own_device(backend: str, asked: str) -> None:
    report = explained(f"RuntimeError: {backend} out of memory. Tried to allocate 2.00 GiB")
    assert asked in (report.actions[0].remedy.code or "")


ADDRESS = (
    "E tensorflow/stream_executor/cuda/cuda_event.cc:29] Error polling for event status: failed to query"
    " event: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
)


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("Maybe it is the custom CUDA kernel of the beam search", "one-op-less"),
        ("oneDNN custom operations are on", "newer-release"),
        ("The model has a custom layer", "newer-release"),
    ],
)
def test_an_op_with_code_of_its_own_comes_first(said: str, first: str) -> None:
    found = slugs(explained(ADDRESS, said))
    assert found[0] == first
    assert "blocking-launches" not in found


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("Your session crashed after using all available RAM.", "more-ram"),
        ("run.sh: line 3: 12345 Killed  python train.py", "container-limit"),
    ],
)
def test_a_notebooks_server_has_no_slurm(said: str, first: str) -> None:
    found = slugs(explained("import jax", "params = load()", said))
    assert first in found
    assert ("container-limit" in found) is (first == "container-limit")
