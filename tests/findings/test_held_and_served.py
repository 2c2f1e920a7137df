"""TPUs that another process holds, jobs that do not connect, servers, draws, and libraries that guess."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

BUSY = "ABORTED: The TPU is already in use by process with pid 731. Not attempting to load libtpu.so"
LATE = "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out."
TPU = "Ran out of memory in memory space hbm. Used 17.20G of 15.48G hbm. Exceeded hbm capacity by 1.72G."
LOADING = (
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Error loading program 'SyncTensorsGraph.7':"
    " Attempting to reserve 1.31G at the bottom of memory. That was not possible. There are 612.25M free, 0B"
    " reserved, and 612.25M reservable."
)
TRAINING = frozenset({"mark-step", "drop-references", "smaller-evaluation-batch", "recompute"})


@pytest.mark.parametrize(
    "message",
    [
        f"jax: Unable to initialize backend 'tpu': {BUSY}",
        "jax: ABORTED: libtpu.so is already in use by another process probably owned by another user.",
        "jax\nInternal error when accessing libtpu multi-process lockfile. Run rm /tmp/libtpu_lockfile",
    ],
)
def test_a_tpu_that_is_held_is_no_lack_of_memory(message: str) -> None:
    text = f"{message}\nsince the OOM of yesterday the TPU is gone, is its memory full?\n"
    assert explained(text).verdict.startswith("No lack of memory: another process holds the TPU")
    assert offered(text)[0] == "free-the-tpu" and "smaller-batch" not in offered(text)


def test_its_holder_is_named() -> None:
    assert "process 731" in explained(f"jax {BUSY}\n").verdict


def test_a_message_of_memory_outranks_a_tpu_that_is_held() -> None:
    page = explained(f"jax {BUSY}\n{TPU}\n")
    assert "17.20 GiB" in page.verdict and len(page.case.moments) == 1


@pytest.mark.parametrize(
    "message",
    [
        f"{LATE} Barrier_id: PjRT_Client_Connect. Timed out task names:",
        f"{LATE} Id: [Init]Wait_for_all_tasks_to_register::0.",
        "XlaRuntimeError: DEADLINE_EXCEEDED: Timed out waiting for clients 1/4",
    ],
)
def test_a_job_that_does_not_connect_is_no_lack_of_memory(message: str) -> None:
    text = f"jax.distributed.initialize()\n{message}\nis the model too large?\n"
    assert explained(text).verdict.startswith("No lack of memory: not all processes of the job connected")
    assert "start-all-processes" in offered(text)


def test_a_barrier_of_a_run_may_wait_for_one_that_was_killed() -> None:
    text = f"jax\n{LATE} Id: orbax_save_12::0. This usually happens because a task was too slow.\n"
    assert explained(text).verdict.startswith("No out-of-memory message: another process of the job")
    assert offered(text) == ["who-ended-it"]


@pytest.mark.parametrize(
    "started",
    ["vllm serve m --gpu-memory-utilization 0.95", "# vLLM on a TPU v6e", "vllm serve m --max-num-seqs 64"],
)
def test_a_server_is_told_of_no_training(started: str) -> None:
    shards = "Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:02<00:00,  1.45it/s]"
    text = (
        f"{started}\n{shards}\nFile 'torch_xla/core/xla_model.py', line 794, in wait_device_ops\n{LOADING}\n"
    )
    page = explained(text)
    assert "server" in page.verdict and "optimizer" not in page.verdict
    assert offered(text)[0] == "smaller-cache-part" and not TRAINING & set(offered(text))
    assert not page.case.capture.surroundings.progress


def test_a_training_keeps_its_advice() -> None:
    text = f"import torch_xla.core.xla_model as xm\nxm.optimizer_step(opt)\n{LOADING}\n"
    assert "optimizer's state" in explained(text).verdict
    assert "smaller-cache-part" not in offered(text)


RESULTS = """
RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8388608000 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:   40.0KiB
              constant allocation:        33B
        maybe_live_out allocation:    7.81GiB
     preallocated temp allocation:    2.00MiB
                 total allocation:    7.82GiB
"""


@pytest.mark.parametrize(
    "said",
    ["idata = az.from_numpyro(mcmc)", "ll = log_likelihood(model, mcmc.get_samples(), x)",
     "the posterior predictive runs out of memory"],
)  # fmt: skip
def test_what_is_computed_of_draws_is_no_new_weight(said: str) -> None:
    text = f"numpyro, jax\n{said}\njaxlib XlaRuntimeError: {RESULTS.strip()}\n"
    assert "new weights" not in explained(text).verdict and "draws afterwards" in explained(text).verdict
    assert offered(text)[0] == "without-log-likelihood" and "narrow-weights" not in offered(text)


def test_results_of_no_draws_may_be_new_weights() -> None:
    text = f"jax\nparams = model.init(key)\njaxlib XlaRuntimeError: {RESULTS.strip()}\n"
    assert "new weights" in explained(text).verdict
    assert "without-log-likelihood" not in offered(text)


@pytest.mark.parametrize(
    "message",
    [
        "Could not fold cplx_2. Not Enough GPU memory? INTERNAL: CUBLAS_STATUS_EXECUTION_FAILED",
        "skipped chain_B: out of memory? CUDNN_STATUS_EXECUTION_FAILED",
        "Insufficient GPU memory? INTERNAL: CUBLAS_STATUS_INTERNAL_ERROR",
    ],
)
def test_a_library_that_asks_whether_it_was_memory_is_believed_as_a_guess(message: str) -> None:
    text = f"jax on a T4\n{message}\n"
    assert "most likely it did, which is not proven" in explained(text).verdict
    assert offered(text)[0] == "smaller-input" and "matching-driver" not in offered(text)


def test_a_call_that_failed_without_a_guess_is_none_of_memory() -> None:
    assert not explained("jax\nINTERNAL: CUBLAS_STATUS_EXECUTION_FAILED\n").case.moments
