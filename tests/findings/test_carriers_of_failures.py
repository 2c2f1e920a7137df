"""Failures told by job managers, other frameworks and tables; what is no lack of memory."""

from __future__ import annotations

import pytest

from tests.findings.logs import CPU, oom
from tfmemlens import pipeline
from tfmemlens.model.report import Report

JOB = "slurmstepd: error: Job 42 exceeded memory limit ({held} > {limit}), being killed\n"
TRAINING = "Epoch 0 | Steps: 3 | Loss: 2.5\n"


def explained(text: str) -> Report:
    return pipeline.explain(text)


def offered(text: str) -> list[str]:
    return [action.remedy.slug for action in explained(text).actions]


def test_the_figures_of_a_job_say_how_much_more_to_ask_for() -> None:
    text = TRAINING + JOB.format(held=20 << 20, limit=16 << 20)
    report = explained(text)
    assert report.case.moments[0].balance.limit.bytes == 16 << 30  # type: ignore[union-attr]
    first = report.actions[0].remedy
    assert first.slug == "raise-container-limit"
    assert "16.00 GiB; it held 20.00 GiB" in first.text
    assert (first.code or "").startswith("#SBATCH --mem=24G")
    assert "smaller-batch" not in offered(text)


def test_no_larger_limit_is_advised_where_none_is_to_be_had() -> None:
    text = (
        TRAINING
        + JOB.format(held=20 << 20, limit=16 << 20)
        + "I use the max memory that the cluster allows.\n"
    )
    assert "raise-container-limit" not in offered(text)
    assert offered(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ResourceExhaustedError: ./run/net-12.tempstate1234567890123456789\n", "file of a checkpoint"),
        ("RESOURCE_EXHAUSTED: /data/run/ckpt-3.data-00000-of-00001.tempstate42; x\n", "file of a checkpoint"),
        (
            "terminate called after throwing\n  what():  Resource temporarily unavailable\n",
            "no further thread",
        ),
        (
            "Could not dlopen library 'libcublas.so.10.1'; dlerror: no such file\n",
            "so TensorFlow runs on the CPU",
        ),
    ],
)
def test_what_is_no_lack_of_memory(text: str, said: str) -> None:
    report = explained(text)
    assert not report.case.moments
    assert said in report.verdict


def test_a_tensor_is_no_file() -> None:
    assert explained(oom("8,64,64,32")).case.moments
    assert "checkpoint" not in explained("ResourceExhaustedError: ran out at ./train.py\n").verdict


@pytest.mark.parametrize(
    ("held", "slugs"),
    [
        ("0 bytes", ["see-device-users"]),
        ("5.10 GiB", ["see-device-users", "other-tool"]),
        ("10.60 GiB", ["other-tool"]),
    ],
)
def test_pytorch_that_holds_nothing_met_a_full_gpu(held: str, slugs: list[str]) -> None:
    text = (
        "RuntimeError: CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 11.17 GiB total capacity;"
        f" {held} already allocated; 20.00 MiB free; {held} reserved in total by PyTorch)\n"
    )
    assert offered(text) == slugs


@pytest.mark.parametrize(
    ("before", "of_jax"),
    [
        ("import jax.numpy as jnp\n", True),
        ("import numpy as np\n", False),
        ("XLA_PYTHON_CLIENT_PREALLOCATE=false\nimport jax.numpy as jnp\n", False),
    ],
)
def test_what_pytorch_lacks_beside_jax_is_jax_s_pool(before: str, of_jax: bool) -> None:
    text = (
        f"{before}torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 23.69"
        " GiB total capacity; 4.61 GiB already allocated; 78.06 MiB free; 4.88 GiB reserved in total by"
        " PyTorch)\n"
    )
    assert ("most likely JAX's pool" in explained(text).verdict) is of_jax
    assert (offered(text)[0] == "growth") is of_jax
    assert "see-device-users" in offered(text)


ROW = "[{0}] Tesla P40        | 45'C,   0 % | {1:>6} / 22919 MB | me({2}M)\n"


def rows(*used: int) -> str:
    return "".join(ROW.format(index, size, size - 40) for index, size in enumerate(used))


@pytest.mark.parametrize(
    ("before", "used", "one"),
    [
        ("mpirun -np 3 python train.py\n", (21000, 120, 120), True),
        ("mpirun -np 3 python train.py\n", (21000, 21000, 120), False),
        ("mpirun -np 3 python train.py\n", (21000, 120, 9000), False),
        ("python train.py\n", (21000, 120, 120), False),
    ],
)
def test_ranks_that_all_compute_on_one_gpu(before: str, used: tuple[int, ...], one: bool) -> None:
    text = before + rows(*used) + oom("64,1000")
    report = explained(text)
    assert ("all ranks compute on the same one" in report.verdict) is one
    assert (report.actions[0].remedy.slug == "one-device-each") is one


def test_a_moving_average_of_a_weight_has_no_batch() -> None:
    said = oom("1024,256", "ema/AssignMovingAvg_3/sub_1", on=CPU, by="cpu")
    assert "smaller-batch" not in offered(said)


def test_an_exhausted_resource_beside_other_letters() -> None:
    report = explained("\u5927\u4f6cResource Exhausted Error\u600e\u4e48\u529e\n")
    assert "in words that memory ran out" in report.verdict


NO_START = (
    "W platform_util.cc:240] unable to create StreamExecutor for CUDA:1: failed initializing StreamExecutor"
    " for CUDA device ordinal 1: Internal: failed call to cuDevicePrimaryCtxRetain: {}\n"
)


@pytest.mark.parametrize(
    "text",
    [
        NO_START.format("CUDA_ERROR_INVALID_DEVICE: invalid device ordinal"),
        "InternalError: cudaSetDevice() on GPU:0 failed. Status: CUDA-capable device(s) is/are busy or"
        " unavailable\n",
    ],
)
def test_a_gpu_that_lets_no_second_process_start_is_no_lack_of_memory(text: str) -> None:
    report = explained(text)
    assert "No lack of memory: the driver let this process start on no GPU" in report.verdict
    assert [each.remedy.slug for each in report.actions] == ["compute-mode"]


def test_a_gpu_that_is_full_is_one() -> None:
    report = explained(NO_START.format("CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory: 8365015040"))
    assert "start on no GPU" not in report.verdict
    assert "compute-mode" not in [each.remedy.slug for each in report.actions]


ARENA = (
    "[E:onnxruntime:, execute.cc:1 Run] Status Message: bfc_arena.cc:309 void*"
    " onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer"
    " of size 33554432\n"
)


def test_the_arena_of_onnx_runtime_has_settings_of_its_own() -> None:
    report = explained(ARENA)
    assert "it asked for 32.00 MiB" in report.verdict
    first = report.actions[0].remedy
    assert first.slug == "other-arena" and "gpu_mem_limit" in (first.code or "")
    beside = explained("mxnet.base.MXNetError: cudaMalloc failed: out of memory\n")
    assert "other-arena" not in [each.remedy.slug for each in beside.actions]
