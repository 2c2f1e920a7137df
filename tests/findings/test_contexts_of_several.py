"""A process that opens all GPUs of a machine, of which others hold some."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

REFUSED = (
    "W external/org_tensorflow/tensorflow/compiler/xla/service/platform_util.cc:200] unable to create"
    " StreamExecutor for CUDA:{at}: failed initializing StreamExecutor for CUDA device ordinal {at}:"
    " INTERNAL: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory;"
    " total memory reported: 34089730048"
)


def read(*ordinals: int) -> Report:
    lines = "\n".join(REFUSED.format(at=at) for at in ordinals)
    return pipeline.explain(f'$ python -c "import jax; print(jax.devices())"\n{lines}\n')


@pytest.mark.parametrize(
    ("ordinals", "code"),
    [
        ((0, 3, 2), "export CUDA_VISIBLE_DEVICES=1"),
        ((0, 1), "export CUDA_VISIBLE_DEVICES=N   # its number, by nvidia-smi or the batch system"),
        ((2, 3), "export CUDA_VISIBLE_DEVICES=N   # its number, by nvidia-smi or the batch system"),
    ],
)
def test_the_gpu_that_is_its_own_is_shown_alone(ordinals: tuple[int, ...], code: str) -> None:
    report = read(*ordinals)
    assert "JAX opens every GPU that it sees" in report.verdict
    assert report.actions[0].remedy.code == code
    assert ("GPU 1 is not among them" in report.verdict) is (ordinals == (0, 3, 2))


def test_one_that_is_full_tells_nothing_of_others() -> None:
    report = read(0)
    assert "so others hold the GPU" in report.verdict
    assert report.actions[0].remedy.slug == "see-device-users"


@pytest.mark.parametrize(("told", "lower"), [("batch 1 per device.", False), ("batch_size=2", True)])
def test_a_batch_of_one_on_each_device_is_not_lowered(told: str, lower: bool) -> None:
    message = (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out"
        " of memory in memory space hbm. Used 33.80G of 30.75G hbm. Exceeded hbm capacity by 3.05G."
    )
    report = pipeline.explain(f"Training with flax on TPU v4, {told}\nI train it.\n{message}\n")
    assert ("smaller-batch" in [action.remedy.slug for action in report.actions]) is lower


TABLE = """
| NVIDIA-SMI 390.30                 Driver Version: 390.30                    |
|   0  Tesla K80           Off  | 00000000:02:00.0 Off |                    0 |
| 31%   48C    P0    61W / 149W |  {used}MiB / 11441MiB |      4%      Default |
| Processes:                                                       GPU Memory |
|    0      4711      C   python3                                {used}MiB |
"""
NO_CONTEXT = (
    "tensorflow.python.framework.errors_impl.InternalError: failed initializing StreamExecutor for CUDA"
    " device ordinal 0: Internal: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY; total"
    " memory reported: 11996954624\n"
)


def test_who_got_no_context_is_none_of_those_that_the_table_lists() -> None:
    report = pipeline.explain(f"$ python3 run.py\n{NO_CONTEXT}{TABLE.format(used=11205)}")
    assert "pid 4711" in report.verdict
    assert report.actions[0].remedy.code == "kill 4711"
    assert "another-gpu" not in [action.remedy.slug for action in report.actions]


def test_a_table_of_an_idle_gpu_names_nobody() -> None:
    report = pipeline.explain(f"$ python3 run.py\n{NO_CONTEXT}{TABLE.format(used=11)}")
    assert "pid 4711" not in report.verdict


def test_a_server_of_a_cluster_gets_its_own_config() -> None:
    command = "$ python3 run.py --job_name=worker --task_index=0\n"
    codes = [action.remedy.code or "" for action in pipeline.explain(command + NO_CONTEXT).actions]
    assert any(".Server(" in code for code in codes)
    alone = [action.remedy.code or "" for action in pipeline.explain(NO_CONTEXT).actions]
    assert not any(".Server(" in code for code in alone)
