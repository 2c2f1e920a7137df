"""A device, a memory or a cause that the text itself clears is not blamed."""

from __future__ import annotations

import pytest

from tfmemlens import pipeline
from tfmemlens.model.report import Report

ASKED = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
RAISED = f"jaxlib.xla_extension.XlaRuntimeError: {ASKED}"


def explained(*lines: str) -> Report:
    return pipeline.explain("\n".join(lines) + "\n")


def slugs(report: Report) -> list[str]:
    return [action.remedy.slug for action in report.actions]


def test_a_gpus_pool_is_no_host_ram_whatever_the_words() -> None:
    pool = (
        "W0721 17:22:50.846991  51220 bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to"
        " allocate 78.51GiB (rounded to 84299471360)requested by op"
    )
    message = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 84299471204 bytes."
    assert "host RAM" not in explained(pool, message).verdict
    assert "host RAM" in explained(message).verdict


def test_a_stream_executor_is_no_tpus() -> None:
    words = "Converting a checkpoint on a TPU VM with jax"
    client = "external/xla/xla/pjrt/pjrt_stream_executor_client.cc:2124] Execution of replica 0 failed: "
    asked = "RESOURCE_EXHAUSTED: Failed to allocate request for 256.00MiB (268435456B) on device ordinal 0"
    devices = [
        moment.request.failed.device
        for text in (f"2022-03-11 08:20:17.300114: E {client}{asked}", f"RuntimeError: {asked}")
        for moment in pipeline.case(pipeline.capture(f"{words}\n{text}\n")).moments
        if moment.request
    ]
    assert devices == [None, "/device:TPU:0"]


def test_what_lies_on_the_device_fills_no_host_ram() -> None:
    kept = "and every step I append the loss to a list. jax, flax"
    told = "the RAM of the process grows by 4 MB per iteration until the kernel kills it"
    assert "keeps on the device" not in explained(f"GPU memory doesn't move, but {told}", kept).verdict
    assert "find-what-grows" in slugs(explained(f"GPU memory doesn't move, but {told}", kept))


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("At 48 layers unrolled it no longer fits 40 GB.", "the largest does not fit (line 2)"),
        ("Is that so?", "No failure is told"),
    ],
)
def test_what_does_not_fit_is_no_success(end: str, said: str) -> None:
    grows = "With nn.scan off in jax temp rises steeply when we add layers, memory grows with the"
    assert said in explained(f"{grows} number of layers.", end).verdict


@pytest.mark.parametrize(
    "words",
    [
        "In one process the 4th run dies, from a shell loop each of them works.",
        "First run of this cell always works. The second one gives:",
    ],
)
def test_runs_that_went_well_before_left_something(words: str) -> None:
    trace = '  File "/a/t.py", line 133, in train_epoch\n    state, opt = train_step(state, opt, batch)'
    report = explained(words, "Traceback (most recent call last):", trace, f"{RAISED} 822083584 bytes.")
    assert "went well in earlier calls (line 1)" in report.verdict
    assert "smaller-batch" not in slugs(report)


def test_a_first_step_that_fails_left_nothing() -> None:
    report = explained("The first run of this cell fails.", f"{RAISED} 822083584 bytes.")
    assert "earlier calls" not in report.verdict


STATS = (
    "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
    "             parameter allocation:   128.0KiB\n"
    "        maybe_live_out allocation:    1.00GiB\n"
    "     preallocated temp allocation:   24.00GiB\n"
    "                 total allocation:   25.00GiB\nPeak buffers:\n"
)


def buffer(name: str, shape: str, size: str = "4.00GiB") -> str:
    return (
        f'\tBuffer 1:\n\t\tSize: {size}\n\t\tOperator: op_name="{name}" source_file="/w.py" source_line=22\n'
        f"\t\tXLA Label: fusion\n\t\tShape: {shape}\n\t\t==========================\n"
    )


def test_random_numbers_of_an_init_have_no_batch() -> None:
    drawn = buffer("jit(init)/jit(main)/Wide/Dense_0/jit(_truncated_normal)/threefry2x32", "u32[2,536870912]")
    report = explained(f"{RAISED} 25769804048 bytes.\n{STATS}{drawn * 3}")
    assert "random numbers of the first weights" in report.verdict
    assert slugs(report)[0] == "partitionable-draws" and "smaller-batch" not in slugs(report)
    noise = buffer("jit(step)/jit(main)/threefry2x32", "u32[2,536870912]")
    assert "partitionable-draws" not in slugs(explained(f"{RAISED} 25769804048 bytes.\n{STATS}{noise * 3}"))


def test_rows_that_no_batch_has() -> None:
    def gathered(rows: int) -> Report:
        rows_of = buffer("jit(f)/jit(main)/vmap(pixel)/gather", f"f32[{rows},2048]", "4.00GiB")
        return explained(f"{RAISED} 25769804048 bytes.\n{STATS}{rows_of * 5}")

    assert "786,432 indices" in gathered(786432).verdict
    assert "smaller-batch" not in slugs(gathered(786432))


def test_a_handle_beside_the_pool_of_another_jax_on_a_small_gpu() -> None:
    row = "|    0   N/A  N/A     {pid}      C   python                                       {mib}MiB |"
    report = explained(
        "jax: RuntimeError: jaxlib/gpu/solver_handle_pool.cc:37: operation gpusolverDnCreate(&handle) failed:"
        " cuSolver internal error",
        "|=========================================+========================+======================|",
        "|   0  NVIDIA GeForce RTX 3060 ...    Off |   00000000:01:00.0 Off |                  N/A |",
        "| N/A   58C    P3             24W /   80W |    6011MiB /   6144MiB |      3%      Default |",
        row.format(pid=41877, mib=4734),
        row.format(pid=43120, mib=1082),
    )
    assert "pid 41877) held" in report.verdict and "most likely this program is pid 43120" in report.verdict
