"""A library's handle that could not be made: memory, or versions that do not match."""

from __future__ import annotations

import pytest

from tests.findings.pages import explained, offered

FAILED = (
    "RuntimeError: jaxlib/gpu/solver_kernels.cc:45: operation gpusolverDnCreate(&handle) failed: cuSolver"
)
PROGRAM = """import jax
Traceback (most recent call last):
  File "/home/me/qr.py", line 8, in <module>
    initializer(jax.random.key(42), (2, 3), jnp.float32)
  File "/home/me/.venv/lib/python3.11/site-packages/jax/_src/nn/initializers.py", line 611, in init
    Q, R = jnp.linalg.qr(A)
"""


def text_of(*beside: str) -> str:
    return "\n".join((*beside, PROGRAM + f"{FAILED} internal error", ""))


OPEN = "this text does not say which"
FULL = "driver.cc:733] failed to allocate 64.00M (67108864 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY"


def test_a_handle_is_no_array_of_the_line_that_failed() -> None:
    page = explained(text_of())
    assert "either no memory is left for its handle" in page.verdict and OPEN in page.verdict
    assert "weight" not in page.verdict
    assert offered(text_of())[0] == "growth"


@pytest.mark.parametrize(
    "setting",
    [
        "os.environ['XLA_PYTHON_CLIENT_MEM_FRACTION'] = '.25'",
        "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
        "export XLA_PYTHON_CLIENT_ALLOCATOR=platform",
    ],
)
def test_room_that_is_left_already_makes_it_a_matter_of_versions(setting: str) -> None:
    page = explained(text_of(setting))
    assert "leaves room outside JAX's pool: most likely its version does not match" in page.verdict
    assert offered(text_of(setting)) == ["matching-driver", "see-device-users"]


@pytest.mark.parametrize(
    ("setting", "memory"),
    [
        ("export XLA_PYTHON_CLIENT_MEM_FRACTION=.95", True),
        (FULL, True),
        ("Then GPU memory runs out, as nvidia-smi shows.", True),
        ("export XLA_PYTHON_CLIENT_PREALLOCATE=true", False),
        ("export XLA_PYTHON_CLIENT_MEM_FRACTION=.75", False),
        ("Then it fails.", False),
    ],
)
def test_only_what_leaves_no_room_makes_memory_the_cause(setting: str, memory: bool) -> None:
    verdict = explained(text_of(setting)).verdict
    assert ("found no memory for its handle" in verdict) is memory
    assert (OPEN in verdict) is not memory


def test_versions_that_the_text_names_go_first() -> None:
    said = "This is probably an incompatible version of CUDA in your conda environment."
    page = explained(text_of(said))
    assert "line 1 names versions that do not match" in page.verdict
    assert offered(text_of(said))[0] == "matching-driver"


@pytest.mark.parametrize(
    "said", ["There is no mismatch of the CUDA driver.", "The shapes (2, 3) and (3, 3) are incompatible."]
)
def test_other_words_name_no_versions(said: str) -> None:
    assert OPEN in explained(text_of(said)).verdict


@pytest.mark.parametrize(("end", "versions"), [("fixed it for me", False), ("never fixed it for me", True)])
def test_a_setting_that_helped_leaves_memory_the_cause(end: str, versions: bool) -> None:
    said = f"XLA_PYTHON_CLIENT_PREALLOCATE=false {end}"
    assert ("most likely its version does not match" in explained(text_of(said)).verdict) is versions


SCRATCH = (
    "UNKNOWN: CUDNN failed to allocate the scratch space for the runner or to find a working no-scratch"
    " runner.\n\t [[{{node net/c7/Conv3D}}]]\n"
)
REFUSED = (
    "2023-05-06 07:08:09.101112: W tensorflow/tsl/framework/bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran"
    " out of memory trying to allocate 1.50GiB with freed_by_count=0. The caller indicates that this is not a"
    " failure, but this may mean that there could be performance gains if more memory were available.\n"
)


def test_a_workspace_comes_from_the_pool_and_growth_gives_it_none() -> None:
    page = explained(REFUSED + SCRATCH)
    assert "pool, which holds the tensors as well, had no room" in page.verdict
    assert "about 1.50 GiB was asked for, line 1" in page.verdict
    assert offered(REFUSED + SCRATCH)[:2] == ["smaller-batch", "cudnn-workspace-limit"]
    assert "growth" not in offered(REFUSED + SCRATCH)


def test_without_the_warning_no_size_is_told() -> None:
    assert "asked for" not in explained(SCRATCH).verdict


def test_near_miss_a_handle_lies_outside_the_pool() -> None:
    told = explained("could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED\n")
    assert "outside TensorFlow's pool" in told.verdict


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (
            "INTERNAL: solver_kernels_ffi.cc:71: operation hipGetLastError() failed: out of memory",
            "hipSOLVER",
        ),
        ("INTERNAL: solver_kernels_ffi.cc:71: operation gpuGetLastError() failed: out of memory", "cuSOLVER"),
        ("INTERNAL: rocBLAS error: rocblas_status_memory_error", "rocBLAS"),
        ("INTERNAL: prng_kernels.cc:71: operation gpuGetLastError() failed: out of memory", "GPU driver"),
        ("INTERNAL: Failed call to cudaGraphInstantiate: out of memory", "GPU driver"),
        ("INTERNAL: custom call 'cusolver_getrf_ffi' failed: out of memory", "GPU driver"),
    ],
)
def test_a_call_that_found_no_memory_is_known_in_its_many_wordings(message: str, verdict: str) -> None:
    report = explained(f"I use jax.\nXlaRuntimeError: {message}\n")
    assert verdict in report.verdict and report.actions
    assert {each.remedy.slug for each in report.actions} & {"growth", "see-device-users"}


@pytest.mark.parametrize(
    "message",
    [
        "INTERNAL: solver_kernels_ffi.cc:71: operation hipGetLastError() failed: invalid argument",
        "INTERNAL: prng_kernels.cc:71: operation gpuGetLastError() failed: invalid device function",
        "INTERNAL: custom call 'my_ffi' failed: the index is out of range",
    ],
)
def test_a_call_that_failed_for_another_reason_is_none_of_memory(message: str) -> None:
    report = explained(f"I use jax.\nXlaRuntimeError: {message}\n")
    assert "found no memory" not in report.verdict and "out-of-memory error in disguise" not in report.verdict


CURED = (
    "it runs since I updated the driver to 410.1",
    "Solved by installing cuDNN 7.4.2 instead.",
    "Switching to CUDA 9.2 fixed it for me",
)
NOT_CURED = (
    "it still fails after I updated the driver to 410.1",
    "I hope it works after I update the driver",
    "Should it be fixed by installing another cuDNN?",
    "It works after I closed the notebook that used the driver",
)


@pytest.mark.parametrize("said", CURED)
def test_versions_that_ended_it_are_the_cause_and_no_update_to_undo(said: str) -> None:
    page = explained(text_of(said))
    assert "line 1 says that another driver, CUDA or cuDNN ended it" in page.verdict
    assert offered(text_of(said))[0] == "matching-driver"
    assert "release-that-works" not in offered(text_of(said))


@pytest.mark.parametrize("said", NOT_CURED)
def test_a_hope_or_a_change_in_vain_ended_nothing(said: str) -> None:
    assert "ended it" not in explained(text_of(said)).verdict


def test_what_began_with_an_update_is_still_read_so() -> None:
    said = "It no longer works after I updated the driver to 410.1"
    assert offered(text_of(said))[0] == "release-that-works"


EAGER = "InternalError: {{{{function_node __wrapped__Conv2D}}}} {0}. [Op:Conv2D]\n"


@pytest.mark.parametrize("batch", ["", "model.predict(x, batch_size=16)\n"])
def test_no_library_at_all_is_no_matter_of_the_batch(batch: str) -> None:
    text = f"import tensorflow as tf\n{batch}{EAGER.format('No DNN in stream executor')}"
    assert "TensorFlow has no cuDNN that it can use" in explained(text).verdict
    assert offered(text) == ["read-the-log", "growth", "see-device-users", "matching-driver"]


def test_a_convolution_without_an_algorithm_asks_for_a_known_batch_alone() -> None:
    failed = "tensorflow.python.framework.errors_impl.NotFoundError: No algorithm worked!\n"
    assert (
        "none of cuDNN's algorithms worked" in explained(failed).verdict and OPEN in explained(failed).verdict
    )
    assert "smaller-batch" not in offered(failed)
    assert "smaller-batch" in offered(f"model.fit(x, y, batch_size=16)\n{failed}")
    assert "smaller-batch" not in offered(f"model.fit(x, y, batch_size=1)\n{failed}")


def test_a_pool_that_grows_already_leaves_versions_or_others() -> None:
    text = (
        "config.gpu_options.allow_growth = True\n"
        "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
        "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN did not start\n"
    )
    assert "lets the pool grow, so it is versions, or another process" in explained(text).verdict
    assert "growth" not in offered(text)
