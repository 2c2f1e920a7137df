"""What posts tell of a core's own memory, of matrix libraries, of other processes, and of figures by hand."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, first, offered
from tfmemlens.model.incident import RequestKind

REMAT = (
    "hlo_rematerialization.cc:3021] Can't reduce memory use below 9.64GiB (10349659607 bytes) by"
    " rematerialization; only reduced to 11.44GiB (12279688992 bytes), down from 11.44GiB (12283238388 bytes)"
    " originally"
)
ASKED = "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
TPU = "Ran out of memory in memory space hbm. Used 17.20G of 15.48G hbm. Exceeded hbm capacity by 1.72G."


@pytest.mark.parametrize(
    ("told", "space"),
    [
        ("E1001: CompileTimeScopedVmemOom on every run", "vmem"),
        ("# [Bug]: VMEM OOM with a vision model", "vmem"),
        ("OOM in VMEM: 2 MB too much on a v2", "vmem"),
        ("On a v4-8 with 16MB of vmem I am running into this error still.", "vmem"),
        ("The kernel's page table is too large for smem.", "smem"),
    ],
)
def test_a_core_s_own_memory_is_read_from_words(told: str, space: str) -> None:
    request = explained(f"A TPU kernel.\n{told}\n").case.moments[0].request
    assert request and request.failed.allocator == space and request.failed.kind is RequestKind.TPU


@pytest.mark.parametrize(
    "told",
    [
        "pass vmem_limit_bytes to it",
        "the vmem of a core is 16 MiB",
        "my step does not compile: OOM, 2 GB of VMEM too much on a v2",
    ],
)
def test_a_mention_of_it_is_no_failure(told: str) -> None:
    assert not explained(f"A TPU kernel.\n{told}\n").case.moments


def test_a_message_outranks_words_of_a_core_s_memory() -> None:
    page = explained(f"# VMEM OOM?\n{TPU}\n")
    assert len(page.case.moments) == 1 and "17.20 GiB" in page.verdict


@pytest.mark.parametrize(
    "message",
    [
        "cuSolver internal error in `eigvalsh`",
        "RuntimeError: jaxlib/gpu/solver.cc:213: operation cusolverDnDsyevd(",
    ],
)
def test_a_solver_that_failed_wants_a_smaller_matrix_and_no_smaller_batch(message: str) -> None:
    text = f"{message}\nimport jax\n"
    assert explained(text).verdict.startswith("A call of cuSOLVER failed: most likely the library found no")
    assert "smaller-input" in offered(text)
    assert not {"smaller-batch", "cudnn-workspace-limit", "default-algorithm"} & set(offered(text))


def test_sizes_that_a_library_refuses_are_no_lack_of_memory() -> None:
    text = "jax\nINTERNAL: jaxlib/gpu/solver_kernels_ffi.cc:593: f failed: cuSolver invalid value error"
    assert explained(text).verdict == (
        "No lack of memory: a library of CUDA refused the sizes or types that it was given."
    )


def test_a_worker_that_lost_another_is_told_as_that() -> None:
    text = "jax\nNCCL operation async_err failed: remote process exited or there was a network error\n"
    assert "another process of the job ended" in explained(text).verdict
    assert offered(text) == ["who-ended-it"]


@pytest.mark.parametrize(
    ("title", "failed"), [("# training, but jax oom", True), ("# a slow training", False)]
)
def test_a_warning_of_xla_is_the_failure_where_words_say_that_memory_ran_out(
    title: str, failed: bool
) -> None:
    page = explained(f"{title}\n{REMAT}\n")
    assert bool(page.case.moments) is failed
    assert ("it needs 11.44 GiB, and 9.64 GiB" in page.verdict) is failed


def test_a_figure_by_hand_below_a_broken_message_is_its_size() -> None:
    request = explained(f"jax\n{ASKED} \n~140GB\n").case.moments[0].request
    assert request and request.failed.size and request.failed.size.bytes == 140 << 30
    far = explained(f"jax\n{ASKED} \nHello\nthere\n140GB\n").case.moments
    assert all(moment.request is None or moment.request.failed.size is None for moment in far)


def test_a_part_above_one_wants_unified_memory_where_a_structure_is_predicted() -> None:
    text = f"AlphaFold on jax\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=4.0\n{ASKED} \n"
    assert first(text).startswith("set unified memory beside it")
    assert "unified-memory" not in offered(text.replace("AlphaFold", "My net"))


@pytest.mark.parametrize(("part", "told"), [("80%", True), ("20%", False)])
def test_most_of_a_gpu_in_words_is_jax_s_pool(part: str, told: bool) -> None:
    text = f"import jax\nFor a simple simulation it consumes {part} of my VRAM.\n"
    assert ("JAX's pool (line 2), and no failure is told" in explained(text).verdict) is told


@pytest.mark.parametrize(
    ("said", "cause"),
    [("I realized I was calling it without the list.", True), ("I realized a speed-up.", False)],
)
def test_what_a_writer_realized_is_the_cause(said: str, cause: bool) -> None:
    text = f"jax\nSimulating 40k nodes consumes all memory on a V100.\n{said}\n"
    assert ("line 3 names the cause" in explained(text).verdict) is cause


def test_words_of_an_address_are_not_the_writer_s() -> None:
    text = "jax\n[This](https://example.org/tpu-inference/builds) is failing on v6e due to OOM\n"
    assert "inference" not in explained(text).verdict


@pytest.mark.parametrize(("note", "open_"), [(" (may be unrelated)", True), ("", False)])
def test_a_last_note_of_nccl_that_may_be_unrelated_is_left_open(note: str, open_: bool) -> None:
    text = (
        "PJRT_DEVICE=CUDA python train.py   # torch_xla\n"
        "INTERNAL: NCCL operation ncclCommInitRank(&comm, n, id, rank) failed: unhandled cuda error. Last"
        f" NCCL warning(error) log entry{note} 'Cuda failure 'out of memory''.\n"
    )
    assert ("its last note may be of another failure" in explained(text).verdict) is open_
