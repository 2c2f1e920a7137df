"""Whole runs from a key, transforms that are too many at once, and the line that started a replica."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.renderers.terminal import report as terminal

STATS = """jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12267176800 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:        80B
              constant allocation:     2.3KiB
        maybe_live_out allocation:   12.91GiB
     preallocated temp allocation:   {temporaries}
                 total allocation:   24.34GiB
"""  # noqa: E501
FRAME = 'Traceback (most recent call last):\n  File "/home/u/run.py", line 7, in main\n    {code}\n'
FFT = (
    "cuda_fft.cc:430] Initialize Params: rank: 1 elem_count: 400 input_embed: 400 batch_count: {rows}\n"
    "cuda_fft.cc:439] failed to initialize batched cufft plan with customized allocator: Allocating"
    " {bytes} bytes exceeds the memory limit of 4294967296 bytes.\n"
)


@pytest.mark.parametrize(
    ("code", "temporaries", "runs"),
    [
        ("outs = train_vjit(rngs)", "1.00GiB", True),
        ("outs = go(rngs)", "11.42GiB", True),
        ("out = go(key)", "1.00GiB", False),
    ],
)
def test_a_whole_run_from_a_key_is_no_initialisation(code: str, temporaries: str, runs: bool) -> None:
    text = "jax\n" + FRAME.format(code=code) + STATS.format(temporaries=temporaries)
    assert ("most likely a whole run" in explained(text).verdict) is runs
    assert ("most likely new weights" in explained(text).verdict) is not runs
    assert ("narrow-weights" in offered(text)) is not runs
    assert first(text).startswith("return less") is runs


@pytest.mark.parametrize(
    ("rows", "needed", "said"),
    [
        (1_336_566, 4_298_396_256, "it has 1,336,566 of 400 numbers; in 2 calls"),
        (1_000, 12_000_000_000, "it has 1,000 of 400 numbers; in 3 calls"),
        (1, 5_000_000_000, "transform fewer rows in one call y ="),
    ],
)
def test_transforms_are_cut_by_their_own_count(rows: int, needed: int, said: str) -> None:
    assert said in first("jax\n" + FFT.format(rows=rows, bytes=needed))


def test_the_frame_below_a_failed_replica_is_its_place() -> None:
    failed = (
        "pjrt_client.cc:3077] {}RESOURCE_EXHAUSTED: Failed to load in-memory CUBIN:"
        " CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    )
    frames = FRAME.format(code="tau = mpc.run(qpos)")
    placed = terminal.render(explained("jax\n" + failed.format("Execution of replica 0 failed: ") + frames))
    assert "your code: /home/u/run.py:7 `tau = mpc.run(qpos)`" in placed
    alone = (
        "failed to allocate 3.90G (4188778496 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
    )
    assert "your code" not in terminal.render(explained("jax\n" + alone + frames))


def test_a_notebook_that_warns_of_a_full_gpu_tells_of_the_pool() -> None:
    text = "import jax\n> Your GPU is close to its memory limit. You will not be able to use any more.\n"
    assert explained(text).verdict.startswith("JAX's pool (line 2), and no failure is told")
