"""A library's call that failed without a word of memory."""

from __future__ import annotations

import pytest

from tests.findings.logs import oom
from tfmemlens import pipeline
from tfmemlens.model.finding import Finding

FAILED = (
    "2021-02-03 10:11:12.131415: E tensorflow/stream_executor/dnn.cc:616] CUDNN_STATUS_EXECUTION_FAILED\n"
)
CONFIG = (
    "tensorflow.python.framework.errors_impl.InternalError: Failed to call ThenRnnForward with model config:"
    " [rnn_mode, rnn_input_mode, rnn_direction_mode]: {mode}, 0, 0 , [num_layers, input_size, num_units,"
    " dir_count, max_seq_length, batch_size, cell_num_units]: [1, 64, 128, 2, 50, {batch}, 128]\n"
)


def found(text: str) -> list[Finding]:
    return [each for each in pipeline.explain(text).findings if each.rule == "library-call-failed"]


def test_the_sizes_of_a_recurrent_call_are_told() -> None:
    one = found(FAILED + CONFIG.format(mode=2, batch=1024))[0]
    assert "cuDNN's LSTM on 1,024 sequences of 50 steps with 128 units failed with" in one.headline
    assert "`CUDNN_STATUS_EXECUTION_FAILED`" in one.headline
    assert "here an unlikely one (its input and output take at most 50.00 MiB each)" in one.headline
    assert [remedy.slug for remedy in one.remedies] == ["smaller-batch", "without-cudnn", "matching-driver"]
    assert "1,024 -> 512" in one.remedies[0].text
    assert "LSTMCell(128)" in (one.remedies[1].code or "")


@pytest.mark.parametrize(("batch", "likely"), [(5242, False), (5243, True)])
def test_a_large_call_may_be_one_of_memory(batch: int, likely: bool) -> None:
    headline = found(CONFIG.format(mode=3, batch=batch))[0].headline
    assert "GRU" in headline
    assert ("unlikely" not in headline) is likely


def test_a_plain_rnn_and_a_status_alone() -> None:
    assert found(CONFIG.format(mode=1, batch=8))[0].remedies[1].code is None
    alone = found(FAILED)[0]
    assert "a call of cuDNN or cuBLAS failed" in alone.headline
    assert [remedy.slug for remedy in alone.remedies] == ["see-device-users", "matching-driver"]
    stated = found("model.fit(x, y, batch_size=48)\n" + FAILED)[0]
    assert "48 -> 24" in stated.remedies[0].text
    cut = found(CONFIG.format(mode=2, batch=8).replace("max_seq_length", "cut here"))[0]
    assert "a call of cuDNN or cuBLAS failed" in cut.headline


@pytest.mark.parametrize(
    "beside",
    [
        oom("8,64,64,32"),
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
        "import jax\nimport jax.numpy as jnp\nx = jnp.zeros(3)\n",
    ],
)
def test_what_says_more_and_other_frameworks(beside: str) -> None:
    assert found(beside + FAILED) == []


def test_a_handle_without_memory_is_a_failure_of_memory() -> None:
    text = FAILED.replace(
        "CUDNN_STATUS_EXECUTION_FAILED", "could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR"
    )
    assert found(text) == []


_OLD = "2023-05-06 10:00:00.000001: W asm_compiler.cc:231] Falling back; ptxas does not support CC 9.0\n"
_PLAN = "2023-05-06 10:00:01.000001: E stream_executor/cuda/cuda_fft.cc:246] Failed to make cuFFT plan: {}\n"


@pytest.mark.parametrize(("before", "first"), [(_OLD, "matching-driver"), ("", "see-device-users")])
def test_a_plan_of_a_transform_fails_with_an_old_cuda(before: str, first: str) -> None:
    one = found(before + _PLAN.format(5))[0]
    assert "a plan of cuFFT" in one.headline
    assert ("older than this GPU (compute capability 9.0)" in one.headline) is bool(before)
    assert one.remedies[0].slug == first


def test_a_plan_without_memory_is_another_failure() -> None:
    assert not found(_OLD + _PLAN.format(2))


_CALL = "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: custom call 'xla.gpu.conv.forward' failed: {}\n"
_CACHED = "import jax\nI0101 compiler.py:323] Persistent compilation cache hit for 'jit_step'\n"


def test_a_program_from_a_cache_is_compiled_anew() -> None:
    one = found(_CACHED + _CALL.format("CUDNN_STATUS_NOT_SUPPORTED"))[0]
    assert "came from a cache (line 2)" in one.headline
    assert one.remedies[0].slug == "without-cache"
    alone = found("import jax\n" + _CALL.format("CUDNN_STATUS_NOT_SUPPORTED"))[0]
    assert "without-cache" not in {each.slug for each in alone.remedies}
    assert not found(_CACHED + "W cuda_dnn.cc:100] CUDNN_STATUS_NOT_SUPPORTED, trying the next\n")


_POOL = "with mp.Pool(processes=4) as pool:\n    scores = pool.map(train, folds)\n"
_WORKER = '  File "/usr/lib/python3.11/multiprocessing/pool.py", line 125, in worker\n'


@pytest.mark.parametrize(("before", "side_by_side"), [(_POOL + _WORKER, True), (_POOL, False), ("", False)])
def test_workers_of_a_pool_that_train_at_once(before: str, side_by_side: bool) -> None:
    one = found(before + CONFIG.format(mode=2, batch=2048))[0]
    assert (one.remedies[0].slug == "fewer-processes") is side_by_side
    assert ("beside others of its pool" in one.headline) is side_by_side
