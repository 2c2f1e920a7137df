"""TensorFlow's pool of pinned host memory: known by its name or its limit where the dump's head was cut."""

from __future__ import annotations

from tests.findings.pages import explained, offered

AT = "2018-03-04 05:06:07.100000: I tensorflow/core/common_runtime/bfc_allocator.cc:7"
ENDED = (
    f"{AT}00] Sum Total of in-use chunks: {{used}}\n{AT}02] Stats: \nLimit:                 {{limit}}\n"
    "InUse:                 {limit}\nMaxInUse:              {limit}\nNumAllocs:                    41\n\n"
    "2018-03-04 05:06:07.100300: W tensorflow/core/framework/op_kernel.cc:1192] Resource exhausted: OOM when"
    " allocating tensor with shape[500,2000,250,4]{more}\n"
)
HOST, CARD = 64 << 30, 11_711_807_488


def ended(limit: int, more: str = "", head: str = "") -> str:
    return head + ENDED.format(limit=limit, used=f"{limit / (1 << 30):.2f}GiB", more=more)


def test_a_full_pool_of_64_gib_is_of_pinned_host_memory() -> None:
    text = ended(HOST)
    report = explained(text)
    assert report.verdict.startswith("Out of pinned host RAM (no GPU's")
    assert offered(text)[:2] == ["smaller-pipeline", "larger-host-pool"]
    assert "smaller-batch" not in offered(text) and "see-device-users" not in offered(text)


def test_a_title_that_names_the_pool_gives_its_limit_the_name_of_that_release() -> None:
    text = ended(CARD, head="# cuda_host_bfc is full, what can I do?\n\n")
    codes = " ".join(action.remedy.code or "" for action in explained(text).actions)
    assert "TF_CUDA_HOST_MEM_LIMIT_IN_MB" in codes and "TF_GPU_HOST_MEM" not in codes


def test_a_card_and_a_message_that_names_the_gpu_are_none() -> None:
    of_gpu = " and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    for text in (ended(CARD), ended(HOST, of_gpu), ended(CARD, of_gpu, "# cuda_host_bfc too\n")):
        assert "pinned" not in explained(text).verdict
        assert "larger-host-pool" not in offered(text)


TITLE = "# RuntimeError: Resource exhausted: Out of memory while trying to allocate {} bytes.\n\n"
POOL = (
    "2022-03-04 05:06:07.200000: W external/org_tensorflow/tensorflow/core/common_runtime/bfc_allocator.cc:45"
    "7] Allocator ({}) ran out of memory trying to allocate 24.00MiB (rounded to 25165824)requested by op \n"
)
DRIVER = (
    "2022-03-04 05:06:07.300000: E external/org_tensorflow/tensorflow/stream_executor/cuda/cuda_driver.cc:79"
    "4] failed to alloc 33554432 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)


def test_a_heading_of_xla_goes_behind_a_log_of_pinned_host_ram() -> None:
    report = explained(TITLE.format(6291456) + POOL.format("xla_gpu_host_bfc") + DRIVER)
    assert report.verdict.startswith("Host RAM (not GPU memory) ran out")
    assert report.case.capture.source.framework == "jax"
    slugs = [action.remedy.slug for action in report.actions]
    assert slugs == ["smaller-pipeline", "container-limit"]


def test_a_pool_of_the_device_beside_it_leaves_the_heading_in_front() -> None:
    report = explained(TITLE.format(6291456) + POOL.format("GPU_0_bfc") + DRIVER)
    assert not report.verdict.startswith("Host RAM")


def test_the_limit_of_xlas_pool_is_named_only_where_the_driver_refused_nothing() -> None:
    full, refused = (
        explained(POOL.format("xla_gpu_host_bfc")),
        explained(POOL.format("xla_gpu_host_bfc") + DRIVER),
    )
    said = [" ".join(each.because or "" for each in report.findings) for report in (full, refused)]
    assert "64 GB unless it is told otherwise" in said[0] and "could not grow" in said[1]
    assert "64 GB" not in said[1]
    assert [
        ["more-pinned-memory" in [a.remedy.slug for a in report.actions]] for report in (full, refused)
    ] == [
        [True],
        [False],
    ]
