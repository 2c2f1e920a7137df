"""Which framework's build wrote a line of C++, by its folder or by how its logger was started."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained

ASYNC = (
    "{} gpu_cudamallocasync_allocator.cc:361] gpu_async_0 cuMemAllocAsync failed to allocate 402653184000"
    " bytes: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
PINNED = (
    "2022-03-01 10:00:0{}.123456: E {}tensorflow/stream_executor/cuda/cuda_driver.cc:802] failed to alloc {}"
    " bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
)
INSIDE = "external/org_tensorflow/"


@pytest.mark.parametrize(
    ("stamp", "framework"),
    [
        ("E0314 10:20:30.123456 4711", "jax"),
        ("E0000 00:00:1741000000.123456 4711", "tensorflow"),
    ],
)
def test_a_logger_that_was_started_is_jaxlibs(stamp: str, framework: str) -> None:
    assert explained(ASYNC.format(stamp)).case.capture.source.framework == framework


@pytest.mark.parametrize(
    ("before", "folder", "framework"),
    [
        ("", INSIDE, "xla"),
        ("", "", "tensorflow"),
        ("I train with TensorFlow.\n", INSIDE, "tensorflow"),
        ("I train with JAX.\n", INSIDE, "jax"),
    ],
)
def test_a_driver_inside_of_a_program_may_be_anybodys(before: str, folder: str, framework: str) -> None:
    log = PINNED.format(1, folder, 1073741824)
    assert explained(before + log).case.capture.source.framework == framework


@pytest.mark.parametrize(
    ("sizes", "after", "open_end"),
    [
        ((1073741824, 966367744, 869731072), "", True),
        ((1073741824, 536870912), "", False),
        ((1073741824,), "", False),
        ((1073741824, 966367744), "RuntimeError: cannot copy\n", False),
    ],
)
def test_requests_that_shrink_by_a_tenth_need_not_end_the_run(
    sizes: tuple[int, ...], after: str, open_end: bool
) -> None:
    log = "".join(PINNED.format(at, INSIDE, size) for at, size in enumerate(sizes))
    assert ("a tenth less" in explained(log + after).verdict) is open_end


FULL = (
    "10:20:30.123 [info] XLA backend allocating 10000000000 bytes on device 0 for BFCAllocator.\n"
    "10:20:31.456 [error] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to"
    " allocate 200000000 bytes.\n"
)


@pytest.mark.parametrize(
    ("said", "framework"),
    [
        ("The fine_tuning.livemd fails.", "xla"),
        ("I run it with Elixir 1.17.", "xla"),
        ("I run it with Bumblebee.", "xla"),
        ("I run it with JAX.", "jax"),
    ],
)
def test_elixirs_programs_are_no_python(said: str, framework: str) -> None:
    page = explained(f"{said}\n{FULL}")
    assert page.case.capture.source.framework == framework
    first = page.case.moments[0].request
    assert first and first.failed.line and first.failed.line.text.startswith("Execution of replica")
